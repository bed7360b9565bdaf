package roots

// A Code is the stable name of a remark about a copy or a root, and what it means.
type Code struct{ Code, Meaning string }

// Codes returns every code that a listing may hold, besides the PKG- codes of
// spec/bundle and the codes of spec/skill for a SKILL.md that cannot be used.
func Codes() []Code {
	return []Code{
		{"E_DRIFT", "the files differ from the receipt"},
		{"E_EOL", "the files differ from the receipt by line endings only"},
		{"E_FORM", "names of files are in another form of Unicode than the receipt has them"},
		{"E_INCOMPLETE", "files of the release are missing, and no other has changed"},
		{"E_LINK", "a checkout turned a link into a file that holds its text"},
		{"E_MODE", "files are executable that were not, or the other way round"},
		{"E_NAME_PATH", "the name cannot be that of a directory"},
		{"E_READ", "the copy cannot be read, or not completely"},
		{"E_RECEIPT", "the receipt cannot be used, so the copy counts as not installed"},
		{"E_RECEIPT_CONFLICT", "the receipt holds the markers of an unfinished merge, so the copy counts as not installed"},
		{"E_RESIDUE", "compiled Python or the like lies beside the files, which the release does not have and which this machine may not have written"},
		{"W_ALIAS", "another path leads to the same directory"},
		{"W_BUILTIN_COMMAND", "hosts have a command of that name of their own"},
		{"W_CASEFOLD", "two copies of one name spell it differently"},
		{"W_CONFUSABLE", "two names look alike"},
		{"W_DUPLICATE_IDENTICAL", "hidden by a copy with the same content"},
		{"W_GATED", "something that the skill needs is missing"},
		{"W_HOST_DIVERGENCE", "two hosts load different content for one name"},
		{"W_NAME_DIR", "name and directory differ"},
		{"W_NESTED", "another skill is inside"},
		{"W_OFF", "an agent is told by its own settings not to load the skill"},
		{"W_ROOT_SKILL", "a SKILL.md directly in a root is ignored"},
		{"W_SETTINGS", "settings of an agent cannot be read, so what it loads is not known"},
		{"W_SHADOWED", "hidden by a copy with other content"},
		{"W_SYMLINK_ESCAPE", "a link leads out of the project and is not followed"},
		{"W_TRUNCATED", "there is more than is searched or compared"},
		{"W_TRUST_DOWNGRADE", "hides a copy whose origin is better proven"},
		{"W_UNGATED", "agents show the skill to their models and do not keep a limit that it sets"},
		{"W_UNREADABLE", "a directory below a root cannot be read"},
		{"W_WEAKER_USED", "used because a stronger copy cannot be"},
	}
}
