package source

// Codes of errors that several sources give, or that the resolver looks for in what a source says.
const (
	CodeNoVersion   = "no_such_version" // no tag, branch, commit or version is called so
	CodeNoRelease   = "no_release"      // there is nothing to choose from
	CodeNoSkill     = "no_skill"        // there is no skill at all
	CodeNoSuchSkill = "no_such_skill"   // there is no skill of this name
	CodeAmbiguous   = "ambiguous_skill" // several skills have this name
	CodePath        = "unknown_path"    // there is no such file or directory
	CodeBlocked     = "blocked"         // the registry took the release away
	CodeYanked      = "yanked"          // the registry offers the release to nobody who did not lock it
	CodeCommit      = "E_COMMIT"        // a commit that is pinned is not there, or another one
	CodeDigest      = "E_DIGEST"        // bytes are not those that are pinned
	CodeTooLarge    = "too_large"       // there is more than is read
)
