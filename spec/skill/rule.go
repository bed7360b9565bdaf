package skill

import (
	"fmt"
	"slices"
	"strings"

	"github.com/skl-project/skl/spec/diag"
)

// Rule ids. They are stable: people write them into configuration.
const (
	RuleNoSkillFile     = "SPEC-NO-SKILL-MD"
	RuleFrontmatter     = "SPEC-FRONTMATTER"
	RuleTwoFrontmatters = "SPEC-TWO-FRONTMATTERS"
	RuleDashes          = "SPEC-DASHES"
	RuleBOM             = "SPEC-BOM"
	RuleCRLF            = "SPEC-CRLF"
	RuleEncoding        = "SPEC-ENCODING"

	RuleYAMLSize      = "SPEC-YAML-SIZE"
	RuleYAMLSyntax    = "SPEC-YAML-SYNTAX"
	RuleYAMLDocuments = "SPEC-YAML-DOCUMENTS"
	RuleYAMLRoot      = "SPEC-YAML-ROOT"
	RuleYAMLKey       = "SPEC-YAML-KEY"
	RuleYAMLDuplicate = "SPEC-YAML-DUPLICATE"
	RuleYAMLAnchor    = "SPEC-YAML-ANCHOR"
	RuleYAMLTag       = "SPEC-YAML-TAG"
	RuleYAMLMerge     = "SPEC-YAML-MERGE"
	RuleYAMLDepth     = "SPEC-YAML-DEPTH"
	RuleYAMLQuote     = "SPEC-YAML-QUOTE"
	RuleYAMLComment   = "SPEC-YAML-COMMENT"
	RuleFlow          = "SPEC-FLOW"

	RuleNameMissing = "SPEC-NAME-MISSING"
	RuleNameLength  = "SPEC-NAME-LENGTH"
	RuleNameChars   = "SPEC-NAME-CHARS"
	RuleNameDir     = "SPEC-NAME-DIR"
	RuleNameASCII   = "SPEC-NAME-ASCII"
	RuleNameDevice  = "SPEC-NAME-DEVICE"

	RuleDescMissing  = "SPEC-DESC-MISSING"
	RuleDescLength   = "SPEC-DESC-LENGTH"
	RuleFieldType    = "SPEC-FIELD-TYPE"
	RuleNotString    = "SPEC-NOT-STRING"
	RuleCompatLength = "SPEC-COMPAT-LENGTH"
	RuleMetaType     = "SPEC-META-TYPE"
	RuleMetaValue    = "SPEC-META-VALUE"
	RuleAllowedTools = "SPEC-ALLOWED-TOOLS"
	RuleUnknownKey   = "SPEC-UNKNOWN-KEY"
	RuleHostKey      = "SPEC-HOST-KEY"
	RuleHostBody     = "SPEC-HOST-BODY"
	RuleHostGate     = "SPEC-HOST-GATE"
	RuleLoadCommand  = "SPEC-LOAD-COMMAND"
	RuleBodyEmpty    = "SPEC-BODY-EMPTY"
	RuleBodyLines    = "SPEC-BODY-LINES"
	RuleHiddenText   = "SPEC-HIDDEN-TEXT"
	RuleZeroWidth    = "SPEC-ZERO-WIDTH"
	RuleControl      = "SPEC-CONTROL"

	RuleFormat             = "V1-FORMAT"
	RuleFormatUnsupported  = "V1-FORMAT-UNSUPPORTED"
	RuleNoFormat           = "V1-NO-FORMAT"
	RuleDualEncoding       = "V1-DUAL-ENCODING"
	RuleTopLevel           = "V1-TOP-LEVEL"
	RuleIndent             = "V1-INDENT"
	RuleModelInvocation    = "V1-MODEL-INVOCATION"
	RuleModelOnly          = "V1-MODEL-ONLY"
	RuleInvocationConflict = "V1-INVOCATION-CONFLICT"
	RuleSideEffects        = "V1-SIDE-EFFECTS"
	RuleTools              = "V1-TOOLS"
	RuleToolName           = "V1-TOOL-NAME"
	RuleToolInterpreter    = "V1-TOOL-INTERPRETER"
	RuleToolUnreachable    = "V1-TOOL-UNREACHABLE"
	RuleTrust              = "V1-TRUST"
	RuleLibraryDepends     = "V1-LIBRARY-DEPENDS"
	RuleAttach             = "V1-ATTACH"
	RuleGeneratedFrom      = "V1-GENERATED-FROM"
	RuleDerivedFrom        = "V1-DERIVED-FROM"
	RuleArguments          = "V1-ARGUMENTS"
	RulePositional         = "V1-ARGUMENTS-POSITIONAL"
	RuleInteraction        = "V1-INTERACTION"
	RuleCritical           = "V1-CRITICAL"
	RuleUnknownField       = "V1-UNKNOWN-FIELD"
	RuleNearSafety         = "V1-UNKNOWN-NEAR-SAFETY"
	RuleLegacyTools        = "V1-LEGACY-TOOLS"
	RuleSidecar            = "V1-SIDECAR"
	RuleSidecarAlone       = "V1-SIDECAR-ALONE"
	RuleSidecarBroken      = "V1-SIDECAR-BROKEN"
	RuleSidecarKeys        = "V1-SIDECAR-KEYS"

	RuleSkillFileCase = "PKG-SKILL-MD-CASE"
	RuleNested        = "PKG-NESTED"
	RulePathUnsafe    = "PKG-PATH-UNSAFE"
	RulePathPortable  = "PKG-PATH-PORTABLE"
	RulePathCollision = "PKG-PATH-COLLISION"
	RuleTooBig        = "PKG-TOO-BIG"
	RuleTooBigInstall = "PKG-TOO-BIG-INSTALL"
	RuleLink          = "PKG-LINK"
	RuleLinkEscape    = "PKG-LINK-ESCAPE"
	RuleFileType      = "PKG-FILE-TYPE"
	RuleSetID         = "PKG-SET-ID"
	RuleLFS           = "PKG-LFS-POINTER"
	RuleBytecode      = "PKG-BYTECODE"
	RuleUnreadable    = "PKG-UNREADABLE"
)

// A RuleDoc describes one rule of [Lint].
type RuleDoc struct {
	ID       string        `json:"id"`
	Severity diag.Severity `json:"severity"` // by default
	Publish  bool          `json:"publish"`  // an error when linting for publication
	Text     string        `json:"text"`     // one line: what triggers it
}

// Rules returns every rule that Lint and Read can report, sorted by id.
func Rules() []RuleDoc { return slices.Clone(rules) }

// lookupRule returns the rule called id, which exists.
func lookupRule(id string) RuleDoc {
	i, found := slices.BinarySearchFunc(rules, id, func(r RuleDoc, id string) int { return strings.Compare(r.ID, id) })
	if !found {
		panic("skill: no rule " + id)
	}
	return rules[i]
}

// problem makes a finding in SKILL.md with its rule's default severity.
func problem(rule string, line, column int, format string, args ...any) *diag.Finding {
	return &diag.Finding{
		File: FileName, Line: line, Column: column,
		Rule: rule, Severity: lookupRule(rule).Severity, Message: fmt.Sprintf(format, args...),
	}
}

// rules is sorted by id.
var rules = []RuleDoc{
	{RuleBytecode, diag.SeverityWarning, false, "the directory holds compiled Python files, which nobody can review"},
	{RuleFileType, diag.SeverityError, false, "the skill holds a device, pipe or socket"},
	{RuleLFS, diag.SeverityError, false, "a file is a Git LFS pointer instead of its content"},
	{RuleLink, diag.SeverityWarning, true, "the skill holds a symbolic link"},
	{RuleLinkEscape, diag.SeverityError, false, "a symbolic link does not lead to a regular file inside the skill"},
	{RuleNested, diag.SeverityWarning, false, "a directory below the skill holds another SKILL.md"},
	{RulePathCollision, diag.SeverityWarning, true, "two paths are one on systems that ignore case or normalise names"},
	{RulePathPortable, diag.SeverityWarning, true, "a path cannot exist on every system"},
	{RulePathUnsafe, diag.SeverityError, false, "a path is unsafe to unpack"},
	{RuleSetID, diag.SeverityError, false, "a file has a set-id or sticky bit"},
	{RuleSkillFileCase, diag.SeverityError, false, "SKILL.md is written in another case"},
	{RuleTooBig, diag.SeverityWarning, true, "more than 512 files or 16 MiB: too big to publish"},
	{RuleTooBigInstall, diag.SeverityError, false, "more than 5,000 files or 50 MiB: too big to install"},
	{RuleUnreadable, diag.SeverityError, false, "a file cannot be read"},
	{RuleAllowedTools, diag.SeverityWarning, false, "allowed-tools is not a string of names separated by spaces"},
	{RuleBodyEmpty, diag.SeverityWarning, false, "nothing follows the frontmatter"},
	{RuleBodyLines, diag.SeverityWarning, false, "the body is longer than 500 lines"},
	{RuleBOM, diag.SeverityWarning, true, "the file starts with a byte order mark"},
	{RuleCompatLength, diag.SeverityError, false, "compatibility is longer than 500 characters"},
	{RuleControl, diag.SeverityWarning, true, "a text field holds control characters, which terminals may obey"},
	{RuleCRLF, diag.SeverityWarning, false, "the frontmatter has Windows line ends"},
	{RuleDashes, diag.SeverityWarning, false, "the frontmatter holds three hyphens inside a line, where the reference tool cuts it"},
	{RuleDescLength, diag.SeverityError, false, "description is longer than 1,024 characters"},
	{RuleDescMissing, diag.SeverityError, false, "description is absent or blank"},
	{RuleEncoding, diag.SeverityError, false, "SKILL.md is not UTF-8"},
	{RuleFieldType, diag.SeverityError, false, "a field that holds text holds a list or map"},
	{RuleFlow, diag.SeverityWarning, false, "a map or list is written in brackets, which the reference tool refuses"},
	{RuleFrontmatter, diag.SeverityError, false, "the file does not start with a frontmatter, or it is not closed"},
	{RuleHiddenText, diag.SeverityError, false, "a text file holds invisible characters that carry text or reorder it"},
	{RuleHostBody, diag.SeverityWarning, false, "the body uses what only some hosts expand; reported with --portable"},
	{RuleHostGate, diag.SeverityWarning, false, "a limit that the skill sets is kept by some hosts only; reported with --portable"},
	{RuleHostKey, diag.SeverityInfo, false, "a top-level key is read by some hosts only; a warning with --portable"},
	{RuleLoadCommand, diag.SeverityWarning, false, "the skill runs a command when a host loads it"},
	{RuleMetaType, diag.SeverityError, false, "metadata is not a map"},
	{RuleMetaValue, diag.SeverityWarning, false, "a metadata value is not a string"},
	{RuleNameASCII, diag.SeverityWarning, true, "name has characters beyond ASCII, which some hosts do not load"},
	{RuleNameChars, diag.SeverityError, false, "name has characters other than lower-case letters, digits and single inner hyphens"},
	{RuleNameDevice, diag.SeverityWarning, true, "name is a device on Windows"},
	{RuleNameDir, diag.SeverityError, false, "name differs from the directory's name"},
	{RuleNameLength, diag.SeverityError, false, "name is longer than 64 characters"},
	{RuleNameMissing, diag.SeverityError, false, "name is absent or empty"},
	{RuleNoSkillFile, diag.SeverityError, false, "the directory has no SKILL.md"},
	{RuleNotString, diag.SeverityWarning, false, "a text field is written without quotes and reads as another type in some hosts"},
	{RuleTwoFrontmatters, diag.SeverityWarning, true, "a second block between lines of three hyphens follows the frontmatter"},
	{RuleUnknownKey, diag.SeverityWarning, false, "a top-level key belongs neither to the format nor to a known host"},
	{RuleYAMLAnchor, diag.SeverityError, false, "the frontmatter uses an anchor or alias"},
	{RuleYAMLComment, diag.SeverityWarning, false, "a comment cuts a description or compatibility that is not quoted"},
	{RuleYAMLDepth, diag.SeverityError, false, "maps and lists nest deeper than 8 levels"},
	{RuleYAMLDocuments, diag.SeverityError, false, "the frontmatter holds more than one YAML document"},
	{RuleYAMLDuplicate, diag.SeverityError, false, "a key appears twice"},
	{RuleYAMLKey, diag.SeverityError, false, "a key is not a string, or has no colon"},
	{RuleYAMLMerge, diag.SeverityError, false, "the frontmatter uses a merge key"},
	{RuleYAMLQuote, diag.SeverityError, false, "a value with a colon must be quoted; hosts that do not mend it skip the skill"},
	{RuleYAMLRoot, diag.SeverityError, false, "the frontmatter is not a map"},
	{RuleYAMLSize, diag.SeverityError, false, "the frontmatter is larger than 64 KiB"},
	{RuleYAMLSyntax, diag.SeverityError, false, "the frontmatter is not YAML"},
	{RuleYAMLTag, diag.SeverityError, false, "the frontmatter uses a tag"},
	{RuleZeroWidth, diag.SeverityWarning, false, "a text file holds zero-width characters where no script or emoji needs them"},
	{RuleArguments, diag.SeverityError, false, "arguments.schema is not a schema within the limits; people cannot invoke the skill"},
	{RulePositional, diag.SeverityWarning, false, "arguments.positional is not a list of the schema's properties; ignored"},
	{RuleAttach, diag.SeverityError, false, "attach is not true or false; read as false"},
	{RuleCritical, diag.SeverityError, false, "critical names a key that this program does not know; the skill is refused"},
	{RuleDerivedFrom, diag.SeverityWarning, true, "derived_from is incomplete or malformed; ignored"},
	{RuleDualEncoding, diag.SeverityError, false, "top-level keys and metadata.corteza-* keys say different things"},
	{RuleFormat, diag.SeverityError, false, "skill_format is not corteza.skill/vN"},
	{RuleFormatUnsupported, diag.SeverityError, false, "skill_format names a version that this program does not know"},
	{RuleGeneratedFrom, diag.SeverityWarning, true, "generated_from is incomplete or malformed; ignored"},
	{RuleIndent, diag.SeverityError, false, "allow or deny is not indented below tools"},
	{RuleInteraction, diag.SeverityWarning, false, "interaction has an unknown value; read as conversational"},
	{RuleInvocationConflict, diag.SeverityWarning, false, "model_invocation and a host's own keys differ; the strictest holds"},
	{RuleLegacyTools, diag.SeverityWarning, false, "tools of a SKILL.json never limited anything and is ignored"},
	{RuleLibraryDepends, diag.SeverityError, false, "library_depends is not a list of packages; the skill is not activated"},
	{RuleModelInvocation, diag.SeverityError, false, "model_invocation has an unknown value; read as disabled"},
	{RuleModelOnly, diag.SeverityWarning, false, "model-only is not listed in critical, so older readers would ignore it"},
	{RuleNoFormat, diag.SeverityWarning, false, "a key of corteza.skill has no effect without skill_format, or one that limits holds with skl alone"},
	{RuleSideEffects, diag.SeverityError, false, "side_effects is not a list of known, compatible values; external is added"},
	{RuleSidecar, diag.SeverityWarning, false, "SKILL.json says something else than SKILL.md, or more"},
	{RuleSidecarAlone, diag.SeverityWarning, true, "only SKILL.json says the name or description, and agents do not read it"},
	{RuleSidecarBroken, diag.SeverityError, true, "SKILL.json cannot be read"},
	{RuleSidecarKeys, diag.SeverityInfo, false, "SKILL.json has keys that SKILL.md has no place for, so it stays"},
	{RuleToolInterpreter, diag.SeverityWarning, false, "tools.allow holds an interpreter, which can call everything else"},
	{RuleToolName, diag.SeverityError, false, "an entry of tools is not a tool name; read as an empty allow list"},
	{RuleToolUnreachable, diag.SeverityWarning, false, "a tool is both allowed and denied"},
	{RuleTools, diag.SeverityError, false, "tools is not a map of allow and deny lists; read as an empty allow list"},
	{RuleTopLevel, diag.SeverityWarning, false, "corteza.skill keys stand at top level; reported with --portable"},
	{RuleTrust, diag.SeverityError, false, "trust has an unknown value; read as local"},
	{RuleUnknownField, diag.SeverityWarning, false, "a key is unknown to corteza.skill/v1"},
	{RuleNearSafety, diag.SeverityError, false, "an unknown key looks like a misspelt safety key; that key is read as its strictest value"},
}
