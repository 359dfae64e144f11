// Gathers the rules of many files into one set: bodies that are alike are read
// and kept once, ids are unique whatever their case. One thread.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "rule/finding.h"
#include "rule/parse.h"
#include "rule/split.h"

namespace duecourse {

class SetBuilder {
 public:
  // The settings must outlive this. With `on_disk`, working directories are looked up.
  SetBuilder(const ServerConfig& config, FindingList& findings, bool on_disk)
      : config_(config), findings_(findings), on_disk_(on_disk) {}

  void AddFile(const std::string& path, const std::string& text);
  size_t seen() const { return seen_; }
  // The set, sorted and hashed. The builder is empty afterwards.
  std::shared_ptr<const RuleSet> Take();

 private:
  struct Known {
    std::string id;
    std::string file;
    int line = 0;
  };
  void AddRule(RuleSource source, Reader& reader);
  std::string ReadId(const RuleSource& source, Reader& reader);
  bool AddName(const TaskName& name, Reader& reader);
  std::shared_ptr<const RuleBody> BodyOf(RuleSource& source, Reader& reader);
  std::shared_ptr<const RuleBody> Share(RuleBody body);
  void CheckReferences(const RuleBody& body, const YamlNode& rule, Reader& reader);
  void CheckFolder(const RuleBody& body, const YamlNode& rule, Reader& reader);

  const ServerConfig& config_;
  FindingList& findings_;
  bool on_disk_;
  size_t seen_ = 0;
  std::vector<RuleFile> files_;
  std::vector<Task> tasks_;
  std::unordered_map<std::string, Known> names_;  // by lower-case id
  std::unordered_map<std::string, std::shared_ptr<const RuleBody>>
      by_text_;  // by hash of the tree as written
  std::unordered_map<std::string, std::vector<std::shared_ptr<const RuleBody>>>
      by_hash_;                          // by RuleBody::hash
  std::map<std::string, bool> folders_;  // working directories looked up
};

}  // namespace duecourse
