#include "tenon/conformance/child_server.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>

namespace tenon {
namespace {

using ::testing::HasSubstr;

// Counts its requests.
ChildServer::Handler make() {
  return [count = 0](const std::string& request) mutable -> std::string {
    if (request == "die") {
      std::fputs("first words\nlast words\n\n", stderr);
      raise(SIGKILL);
    }
    if (request == "leave") _exit(3);
    if (request == "hang") pause();
    if (request == "throw") throw std::runtime_error("thrown");
    std::puts("what is printed is no answer");
    return request + " " + std::to_string(++count);
  };
}

TEST(ChildServer, AnswersRequestsInOneProcess) {
  ChildServer server(make, 60);
  EXPECT_FALSE(server.is_running());
  EXPECT_EQ(server.ask("a").text, "a 1");
  EXPECT_TRUE(server.is_running());
  const std::string long_one(200000, 'x');  // more than a pipe holds
  EXPECT_EQ(server.ask(long_one).text, long_one + " 2");
}

TEST(ChildServer, SaysHowTheProcessEndedAndStartsAnother) {
  ChildServer server(make, 60);
  EXPECT_EQ(server.ask("a").text, "a 1");
  ChildServer::Answer answer = server.ask("die");
  EXPECT_FALSE(answer.text);
  EXPECT_FALSE(answer.hung);
  EXPECT_EQ(answer.end, "ended by signal 9 (Killed): last words");
  EXPECT_FALSE(server.is_running());
  EXPECT_EQ(server.ask("a").text, "a 1");
  EXPECT_EQ(server.ask("leave").end, "ended with status 3");
  EXPECT_EQ(server.ask("throw").end, "ended with status 1: thrown");
}

TEST(ChildServer, EndsOneThatTakesTooLong) {
  ChildServer server(make, 0.2);
  const ChildServer::Answer answer = server.ask("hang");
  EXPECT_FALSE(answer.text);
  EXPECT_TRUE(answer.hung);
  EXPECT_THAT(answer.end, HasSubstr("Killed"));
}

}  // namespace
}  // namespace tenon
