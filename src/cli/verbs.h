// One function a verb; each lives in the file of its name.
#pragma once

#include "cli/args.h"

namespace duecourse {

int ServeVerb(const Args& args);
int CheckVerb(const Args& args);
int ShowVerb(const Args& args);
int NextVerb(const Args& args);
int WhyVerb(const Args& args);
int DecisionsVerb(const Args& args);
int RunsVerb(const Args& args);
int AuditVerb(const Args& args);
int LogsVerb(const Args& args);
int RunVerbOnce(const Args& args);
int TriggerVerb(const Args& args);
int CancelVerb(const Args& args);
int FlagVerb(const Args& args);
int PauseVerb(const Args& args);
int ResumeVerb(const Args& args);
int ManualVerb(const Args& args);
int ReloadVerb(const Args& args);
int DoctorVerb(const Args& args);
int DoctorRepeated(const Args& args, const std::string& key);
int DoctorCatchup(const Args& args, const std::string& task, const std::string& date);
int AlertVerb(const Args& args);
int SchemaVerb(const Args& args);
int CompletionVerb(const Args& args);
int VersionVerb(const Args& args);

}  // namespace duecourse
