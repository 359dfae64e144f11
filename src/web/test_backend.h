// A daemon for tests of the API alone: an engine that takes everything, and a store in which there is
// nothing.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "store/memory_store.h"
#include "web/backend.h"

namespace duecourse {

class EmptyBackend : public Backend {
 public:
  void Ask(Request, std::function<void(Answer)> reply) override { reply({}); }
  void Reload(ReloadOrder, std::function<void(Answer)> reply) override { reply({}); }
  void TestAlert(TestOrder, std::function<void(Answer)> reply) override { reply({}); }
  Result<std::unique_ptr<StoreReader>> NewReader() override { return NewMemoryReader(disk_); }
  std::string WaitsFor(const AttemptRef&) override { return ""; }
  Health health() override {
    Health health;
    health.healthy = true;
    return health;
  }
  Engine::Figures figures() override { return {}; }
  std::shared_ptr<const RuleSet> rules() override { return std::make_shared<RuleSet>(); }
  const std::string& data_folder() const override { return name_; }
  const std::string& node() const override { return name_; }
  Instant now() const override { return {}; }

 private:
  std::shared_ptr<MemoryDisk> disk_ = NewMemoryDisk();
  const std::string name_ = "n";
};

}  // namespace duecourse
