#include "tenon/config/field_audit.h"

#include <fmt/format.h>

#include <algorithm>
#include <new>
#include <vector>

namespace tenon {
namespace {

struct Span {
  size_t begin, end, align;
};

// The object's bytes after construction over `pattern`, and where its listed fields lie.
struct Image {
  std::vector<unsigned char> bytes;
  std::vector<Span> spans;
};

Image construct_over(const Layout& layout, std::span<const Field> fields, unsigned char pattern) {
  auto* memory = static_cast<unsigned char*>(::operator new(layout.size, std::align_val_t(layout.align)));
  // Through volatile: otherwise the optimizer may drop the pattern as dead, and read anything for what isn't written.
  volatile unsigned char* raw = memory;
  for (size_t i = 0; i < layout.size; ++i) raw[i] = pattern;
  void* owner = layout.construct(memory);
  Image image;
  image.bytes.assign(raw, raw + layout.size);
  image.spans.push_back({0, layout.header, layout.align});
  for (const Field& field : fields) {
    const auto begin = static_cast<size_t>(static_cast<unsigned char*>(field.get(owner)) - memory);
    image.spans.push_back({begin, begin + field.type().size(), field.type().align()});
  }
  layout.destroy(owner);
  ::operator delete(memory, std::align_val_t(layout.align));
  std::sort(image.spans.begin(), image.spans.end(), [](const Span& a, const Span& b) { return a.begin < b.begin; });
  return image;
}

std::string audit(std::string_view owner, const Layout& layout, std::span<const Field> fields);

// Structs nested in the field's type, at any depth.
std::string audit_type(const std::string& owner, const ValueType& type) {
  switch (type.kind()) {
    case ValueType::Kind::holder:
      return audit_type(owner, static_cast<const HolderType&>(type).inner());
    case ValueType::Kind::list:
      return audit_type(owner, static_cast<const ListType&>(type).element());
    case ValueType::Kind::map:
      return audit_type(owner, static_cast<const MapType&>(type).element());
    case ValueType::Kind::record: {
      const auto& record = static_cast<const RecordType&>(type);
      return audit(owner, record.layout(), record.fields());
    }
    default:
      return "";
  }
}

std::string audit(std::string_view owner, const Layout& layout, std::span<const Field> fields) {
  const Image a = construct_over(layout, fields, 0x5a);
  const Image b = construct_over(layout, fields, 0xa5);
  std::string problems;
  size_t end = 0;
  auto check_hole = [&](size_t begin, size_t align) {
    bool written = false;
    for (size_t i = end; i < begin; ++i) written = written || a.bytes[i] == b.bytes[i];
    if (written || begin >= end + align) {
      problems += fmt::format("{}: bytes {} to {} belong to a field that isn't listed\n", owner, end, begin);
    }
  };
  for (const Span& span : a.spans) {
    check_hole(span.begin, span.align);
    end = std::max(end, span.end);
  }
  check_hole(layout.size, std::max<size_t>(layout.align, 1));
  // An empty struct has one byte that is nobody's.
  if (fields.empty() && layout.header == 0 && layout.size == 1) problems.clear();
  for (const Field& field : fields) problems += audit_type(fmt::format("{}.{}", owner, field.name), field.type());
  return problems;
}

}  // namespace

std::string audit_fields(const ConfigType& type) { return audit(type.name(), type.layout(), type.fields()); }
std::string audit_fields(const FnType& type) { return audit(type.name(), type.layout(), type.fields()); }

std::string audit_fields(const Registry& registry) {
  std::string problems;
  for (const ConfigType* type : registry.implementations(AnyConfig::static_type())) problems += audit_fields(*type);
  for (const FnType* type : registry.functions()) problems += audit_fields(*type);
  return problems;
}

}  // namespace tenon
