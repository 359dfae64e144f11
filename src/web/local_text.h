// Sentences for people in the zone of the task that they are about.
#pragma once

#include <string>

#include "time/zone.h"

namespace duecourse {

// The instants of a sentence, which the engine writes in UTC, as the zone's clocks show them. Only one that
// stands alone as a word is the sentence's own; what is glued to anything else
// ("in/x_2026-12-01T08:00:00Z.csv", "loc:2026-12-01T08:00:00Z") is part of a name, which is nowhere else
// written otherwise, and stays as it is.
std::string LocalInstants(const std::string& text, const Zone& zone);

}  // namespace duecourse
