#include "tenon/kernels/cpu/attention.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tenon/kernels/cpu/attention.cc"
#include <hwy/foreach_target.h>  // includes this file again for each target
//
#include "tenon/kernels/cpu/attention-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tenon {
namespace HWY_NAMESPACE {

void forward_head(const AttentionShape& s, const AttentionForward& a, int64_t b, int64_t k, int64_t first,
                  int64_t last) {
  if (s.element == Element::f32) {
    Head<float>(s, a.places, b, k).forward(a, first, last);
  } else {
    Head<uint16_t>(s, a.places, b, k).forward(a, first, last);
  }
}

void backward_head(const AttentionShape& s, const AttentionBackward& a, int64_t b, int64_t k) {
  if (s.element == Element::f32) {
    Head<float>(s, a.places, b, k).backward(a);
  } else {
    Head<uint16_t>(s, a.places, b, k).backward(a);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace tenon
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tenon {

HWY_EXPORT(forward_head);
HWY_EXPORT(backward_head);

namespace {

// Packing a head's keys and values pays from about so many queries on.
constexpr int64_t kQueriesPerTask = 1024;

}  // namespace

void attention_forward(const AttentionShape& s, const AttentionForward& a, const Workers& workers) {
  const int64_t heads = s.B * s.K, pieces = std::max<int64_t>((s.T + kQueriesPerTask - 1) / kQueriesPerTask, 1);
  parallel_for(workers, heads * pieces, [&](int64_t task) {
    const int64_t head = task / pieces, first = task % pieces * kQueriesPerTask;
    HWY_DYNAMIC_DISPATCH(forward_head)
    (s, a, head / s.K, head % s.K, first, std::min(first + kQueriesPerTask, s.T));
  });
}

void attention_backward(const AttentionShape& s, const AttentionBackward& a, const Workers& workers) {
  parallel_for(workers, s.B * s.K,
               [&](int64_t head) { HWY_DYNAMIC_DISPATCH(backward_head)(s, a, head / s.K, head % s.K); });
}

}  // namespace tenon
#endif
