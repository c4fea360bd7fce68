// Private to this folder: what the process that holds the plugin does.
//
//   load            loads the plugin: {facts}
//   devices         makes a client: {machine, devices, single}
//   describe        describes a machine: {machine, devices, single}
//   check N         plugin_checks()[N]: {status, words}
//   ops N N …       op_cases() by number, in one program: {wrong: {place: words}}
//
// What is refused is {error, path}.
#pragma once

#include <string>

#include "tenon/conformance/check_machine.h"
#include "tenon/conformance/child_server.h"

namespace tenon {

ChildServer::Handler serve_checks(const CheckSubject& subject);

}  // namespace tenon
