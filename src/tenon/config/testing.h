// For tests: that a class's TENON_ macro names all of its fields.
//
// Every object is default-constructed over memory filled with one pattern and then another. A byte that comes out the
// same both times was written by the constructor, so it must belong to a listed field; and no hole between listed
// fields may be as large as alignment doesn't explain.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "tenon/config/config_type.h"
#include "tenon/config/field_audit.h"

namespace tenon {

// T: a class with a Config, a Config, or a struct with TENON_FN. Nested structs are looked into.
template <class T>
void expect_all_fields_listed() {
  if constexpr (FnStruct<T>) {
    EXPECT_EQ(audit_fields(T::fn_type()), "");
  } else {
    EXPECT_EQ(audit_fields(detail::ConfigOf<T>::type::static_type()), "");
  }
}

}  // namespace tenon
