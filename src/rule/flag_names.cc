#include "rule/flag_names.h"

#include <string_view>
#include <vector>

#include "base/text.h"
#include "rule/defaults.h"

namespace duecourse {
namespace {

// Whether the name can be what comes of the pieces, a variable being one character or more. Each text between
// two variables is taken where it is found first: what follows has the most room then.
bool Fits(const std::vector<Template::Piece>& pieces, std::string_view name) {
  bool after_variable = false;
  for (size_t i = 0; i < pieces.size(); ++i) {
    const std::string& literal = pieces[i].literal;
    const bool last = i + 1 == pieces.size() && pieces[i].name.empty();
    size_t at = 0;
    if (after_variable) {
      if (name.empty()) return false;
      if (last && name.size() <= literal.size()) return false;
      at = last ? name.size() - literal.size() : name.find(literal, 1);
    }
    if (at == std::string_view::npos || !name.substr(at).starts_with(literal)) return false;
    name.remove_prefix(at + literal.size());
    after_variable = !pieces[i].name.empty();
  }
  return after_variable ? !name.empty() : name.empty();
}

class FlagSearch {
 public:
  FlagSearch(const std::string& name, bool dated) : name_(name), dated_(dated) {}

  void Look(const Template& asked, bool dated) {
    if (Fits(asked.pieces(), name_)) {
      (dated == dated_ ? found_ : other_date_) = true;
    } else if (asked.constant()) {
      names_.push_back(asked.text());
    }
  }
  void Named(const std::string& flag) {
    const Result<Template> name = Template::Parse(flag);
    if (!name.ok()) return;
    Look(*name, true);
    Look(*name, false);
  }
  std::string Note() const {
    if (found_) return "";
    if (other_date_)
      return StrCat("note: the rules ask for ", name_,
                    dated_ ? " without a date beside it: set it without --date (--undated where its name "
                             "spells none)"
                           : " with a date beside it: set it with --date");
    const auto near = Nearest(name_, names_);
    return StrCat("note: no active rule waits for or sets a flag of the name ", name_,
                  near ? StrCat("; did you mean ", *near, "?") : "");
  }

 private:
  const std::string name_;
  const bool dated_;
  bool found_ = false;
  bool other_date_ = false;
  std::vector<std::string> names_;
};

}  // namespace

std::string UnknownFlagNote(const RuleSet& rules, const std::string& name, bool dated) {
  FlagSearch search(name, dated);
  for (const Task& task : rules.tasks) {
    for (const Precondition& condition : task.rule().trigger.preconditions) {
      if (condition.type == Precondition::Type::kFlag) search.Look(condition.flag.name, condition.flag.dated);
    }
    for (const Template& flag : task.rule().on_success_flags) search.Look(flag, !RendersDate(flag));
  }
  for (const FlagConfig& flag : rules.config.flags) search.Named(flag.name);
  return search.Note();
}

}  // namespace duecourse
