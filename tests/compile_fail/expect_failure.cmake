# Runs `command` and fails unless the command fails with a message that matches `message`.
execute_process(COMMAND ${command} RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
if(status EQUAL 0)
  message(FATAL_ERROR "compiled, but must not: ${command}")
endif()
if(NOT output MATCHES "${message}")
  message(FATAL_ERROR "failed without \"${message}\":\n${output}")
endif()
