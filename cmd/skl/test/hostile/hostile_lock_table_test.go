package hostile

// A harmlessRow says why an edited lock may pass. Every row has to be needed.
type harmlessRow struct {
	runs  string // those that it passes, of bare, ci, check, verify
	entry string // names of skills, "" is any
	field string
	kind  string // of the edit
	why   string
}

// harmless is what may pass, and why.
var harmless = []harmlessRow{
	{"bare ci check verify", "", "later", "added.*", "fields of later versions survive by the rules of the format; this one gives them no meaning"},
	{"bare ci check verify", "form", "signer.later", "added", "as above"},
	{"bare ci check verify", "form gear bare", "log.later", "added", "as above"},
	{"bare ci check verify", "", "moved", ".*", "it is a note for whoever reviews the lock: it excuses nothing, and check --base shows it"},
	{"bare ci check verify", "", "permissions", `added \[\]`, "an empty list is what a field that is not there means"},
	{"bare ci check verify", "pdf", "permissions", `to \["load-command"\]`, "an older skl wrote that of this release; what an update asks for is compared with files, never with the lock, and the next install writes all of it"},
	{"ci verify", "canopy", "permissions", `emptied|removed|to \[\]`, "none of it is a command that runs at load time, and nothing is installed: the files are the locked tree; where they are installed it is refused"},
	{"bare ci check verify", "", "generated_from", `added \{\}`, "an empty table is what a field that is not there means"},
	{"bare ci check verify", "", "unsigned", "added false", "false is what a field that is not there means"},
	{"bare ci check verify", "gear", "signer", ".*", "the machine knows no signer of widgets, so nobody is believed: verify says skipped, ci that it was not checked"},
	{"ci check verify", "form gear bare scan packed own", "artifact", ".*", "it says which archive to fetch, and nothing is fetched: the files are the locked tree; where it is fetched it is refused"},
	{"ci check verify", "pdf ocr notes own packed", "path", ".*", "it says where in its source the skill is, and nothing is fetched: the files are the locked tree; where it is fetched it is refused"},
	{"bare", "scan packed", "artifact", "removed|emptied", "what is fetched has to be the locked tree; the artifact is one more name of it"},
	{"bare ci check verify", "scan", "signer", "added .*|of form", "the machine knows no signer for that host, so nobody is believed: verify says skipped, ci that it was not checked"},
}

// harmlessAtTimes need not be needed: whether there is such an edit depends on the second in which something happened.
var harmlessAtTimes = []harmlessRow{
	{"bare ci check verify", "form gear bare", "log.checkpoint", "of .*", "another signed head of the same log, of which the proof holds as well: signed in another second"},
}
