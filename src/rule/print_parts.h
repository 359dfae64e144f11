// The parts of RuleTree, one file each.
#pragma once

#include <string>

#include "rule/print.h"

namespace duecourse {

// A map being filled. Defaults go in only where every one is wanted; empty maps never do.
class TreePrinter {
 public:
  explicit TreePrinter(bool effective) : effective_(effective) {}
  void Put(const std::string& key, std::string yaml, bool is_default);
  void Put(const std::string& key, PrintNode node);
  // What no key can say, where every default is wanted.
  void Note(std::string text);
  PrintNode& map() { return map_; }
  PrintNode Take() { return std::move(map_); }

 private:
  bool effective_;
  PrintNode map_;
};

PrintNode TriggerTree(const RuleBody& rule, bool effective);
PrintNode PreconditionTree(const Precondition& condition, bool effective);
PrintNode ExecutionTree(const ExecutionRule& execution, bool effective);
void PutHttp(const HttpCall& call, const char* default_method, TreePrinter* tree);
std::string ValueYaml(const TextOrSecret& value);
std::string DaysYaml(uint8_t days);

}  // namespace duecourse
