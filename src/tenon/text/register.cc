#include "tenon/text/register.h"

#include "tenon/config/registry.h"
#include "tenon/text/bytes_tokenizer.h"
#include "tenon/text/sentencepiece_tokenizer.h"
#include "tenon/text/sentinel_tokenizer.h"

namespace tenon {

void register_text(Registry& registry) { registry.add<BytesTokenizer, SentencePieceTokenizer, SentinelTokenizer>(); }

}  // namespace tenon
