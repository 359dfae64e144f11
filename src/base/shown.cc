#include "base/shown.h"

#include "base/log.h"
#include "base/text.h"

namespace duecourse {

std::string Shown(std::string_view text, size_t longest) {
  // Cut before the escaping as well, so that a huge text costs little; the secrets go first, whole.
  std::string redacted = Redact(std::string(text.substr(0, 64 * longest)));
  std::string shown = ShowBytes(std::string_view(redacted).substr(0, 4 * longest), false);
  if (shown.size() <= longest) return shown;
  size_t cut = longest;
  while (cut > 0 && (static_cast<unsigned char>(shown[cut]) & 0xC0) == 0x80) --cut;
  return shown.substr(0, cut) + "…";
}

}  // namespace duecourse
