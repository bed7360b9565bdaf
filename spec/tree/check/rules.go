package check

import (
	"slices"
	"strings"

	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/skill"
)

// Rule ids. They are stable: people write them into configuration.
const (
	AgentFile   = "CNP-F01"
	RootKey     = "CNP-F08"
	NoCompat    = "CNP-F09"
	CompatText  = "CNP-F12"
	OneInstall  = "CNP-F13"
	NoGuard     = "CNP-P01"
	OldGuard    = "CNP-P02"
	LateGuard   = "CNP-P03"
	WeakGuard   = "CNP-P04"
	NoTree      = "CNP-S01"
	NoSections  = "CNP-S02"
	Steps       = "CNP-S03"
	InlineData  = "CNP-S04"
	TwoTrees    = "CNP-S05"
	HostPath    = "CNP-S06"
	LongBody    = "CNP-S07"
	LongBlock   = "CNP-S08"
	EarlyReads  = "CNP-S09"
	SectionName = "CNP-S10"
	TooBig      = "CNP-S11"
	NearTree    = "CNP-S12"
	StrayLine   = "CNP-S13"

	OutsFirst     = "CNP-T01"
	EmptyOperator = "CNP-T02"
	LabelDiffers  = "CNP-T03"
	Layout        = "CNP-T04"
	Chain         = "CNP-T05"
	LowerCase     = "CNP-T06"
	ArrowOutput   = "CNP-T07"
	InlineBranch  = "CNP-T08"
	ProseAsk      = "CNP-T09"
	ProsePlan     = "CNP-T10"
	ProseFlow     = "CNP-T11"
	Clauses       = "CNP-T12"
	LongNode      = "CNP-T13"
	FixedText     = "CNP-T14"
	SlotText      = "CNP-T15"
	ShellCommand  = "CNP-T16"
	UnknownOp     = "CNP-T17"
	Arity         = "CNP-T18"
	Unbound       = "CNP-T19"
	BareWord      = "CNP-T20"
	NoNegative    = "CNP-T21"
	DeadNodes     = "CNP-T22"
	NearStep      = "CNP-T23"

	NoCondition       = "CNP-X01"
	NoInput           = "CNP-X02"
	StrayOperators    = "CNP-X03"
	ParallelOperators = "CNP-X04"
	ParallelFew       = "CNP-X05"
	NoQuestion        = "CNP-X06"
	NoPlanFields      = "CNP-X07"
	VerifyPath        = "CNP-X08"
	ExploreOutput     = "CNP-X09"
	BoldPrimitive     = "CNP-X10"
	ParallelJump      = "CNP-X11"
	ParallelShare     = "CNP-X12"
	BreakTree         = "CNP-X13"

	PrimitiveOp    = "CNP-O01"
	DuplicateOp    = "CNP-O02"
	EmptyOp        = "CNP-O03"
	OpName         = "CNP-O04"
	NoCategory     = "CNP-O05"
	FileMissing    = "CNP-O06"
	VerifyMissing  = "CNP-O07"
	PathEscapes    = "CNP-O08"
	SectionMissing = "CNP-O09"
	OldLayout      = "CNP-O10"
	WrongCategory  = "CNP-O11"
	SeveralInFile  = "CNP-O12"

	BoldUnmarked  = "CNP-M01"
	PlainMarked   = "CNP-M02"
	NoOutput      = "CNP-M03"
	OutputMissing = "CNP-M04"
	InputMissing  = "CNP-M05"
	StrictInput   = "CNP-M06"
	MarkerForm    = "CNP-M08"
	TwoForms      = "CNP-M09"
	TwoMarkers    = "CNP-M10"
	ToolMissing   = "CNP-M11"
	ToolName      = "CNP-M12"
	ToolTree      = "CNP-M13"

	BadSchema     = "CNP-C01"
	SchemaFields  = "CNP-C02"
	FlowMismatch  = "CNP-C03"
	NoContracts   = "CNP-C04"
	ContractsMode = "CNP-C05"
	SampleSchema  = "CNP-C06"
	NotStrict     = "CNP-C07"

	NoManifest     = "CNP-N01"
	UnusedFeature  = "CNP-N02"
	MissingFeature = "CNP-N03"
	CoreListed     = "CNP-N04"
	UnknownFeature = "CNP-N05"

	AgentFirst    = "CNP-A01"
	AgentSchema   = "CNP-A02"
	AgentData     = "CNP-A03"
	AgentStock    = "CNP-A04"
	AgentConcerns = "CNP-A05"
	AgentLegacy   = "CNP-A06"
	DebugCode     = "CNP-A07"
)

// Rules returns every rule that Check can report, sorted by id. A finding can be
// milder than its rule's severity, and says why.
func Rules() []skill.RuleDoc { return slices.Clone(rules) }

func lookup(id string) skill.RuleDoc {
	i, found := slices.BinarySearchFunc(rules, id, func(r skill.RuleDoc, id string) int { return strings.Compare(r.ID, id) })
	if !found {
		panic("check: no rule " + id)
	}
	return rules[i]
}

const (
	fault = diag.SeverityError
	doubt = diag.SeverityWarning
	hint  = diag.SeverityInfo
)

// rules is sorted by id.
var rules = []skill.RuleDoc{
	{ID: AgentFirst, Severity: fault, Text: "the skill has an Agent section, and its first step is not EXPLORE"},
	{ID: AgentSchema, Severity: fault, Text: "the output contract of the Agent section does not exist"},
	{ID: AgentData, Severity: fault, Text: "the Agent section holds a table, a mapping, a numbered list or quoted examples"},
	{ID: AgentStock, Severity: doubt, Text: "the Agent section repeats what the runtime says anyway"},
	{ID: AgentConcerns, Severity: doubt, Text: "the Agent section does several things in one paragraph"},
	{ID: AgentLegacy, Severity: hint, Text: "the Agent section is the old form of a subagent op"},
	{ID: DebugCode, Severity: doubt, Text: "the tree traces itself, which is the work of the runtime"},
	{ID: BadSchema, Severity: fault, Text: "a contract is not JSON"},
	{ID: SchemaFields, Severity: doubt, Text: "a contract lacks a property for a name of the op's signature"},
	{ID: FlowMismatch, Severity: doubt, Text: "a value does not fit where it is used, by the contracts on both sides"},
	{ID: NoContracts, Severity: doubt, Text: "contracts are strict, and no op has one"},
	{ID: ContractsMode, Severity: fault, Text: "canopy-contracts has a value other than strict, or is misspelt"},
	{ID: SampleSchema, Severity: doubt, Text: "a contract is a sample instead of a JSON Schema; an error when it refers to a file outside the skill"},
	{ID: NotStrict, Severity: hint, Text: "most ops have contracts that nothing enforces"},
	{ID: AgentFile, Severity: fault, Text: "the entry file is an agent file instead of SKILL.md"},
	{ID: RootKey, Severity: fault, Text: "a top-level key of some hosts stands outside metadata"},
	{ID: NoCompat, Severity: fault, Text: "compatibility is absent, so nothing says that the tree needs a runtime"},
	{ID: CompatText, Severity: doubt, Text: "compatibility does not name canopy-runtime and where to find it"},
	{ID: OneInstall, Severity: doubt, Text: "compatibility prescribes one single way to install the runtime"},
	{ID: BoldUnmarked, Severity: fault, Text: "a call in bold means an op that is not a subagent"},
	{ID: PlainMarked, Severity: fault, Text: "a plain call means a subagent"},
	{ID: NoOutput, Severity: fault, Text: "a subagent has no output contract"},
	{ID: OutputMissing, Severity: fault, Text: "the file of an output contract does not exist"},
	{ID: InputMissing, Severity: fault, Text: "the file of an input contract does not exist"},
	{ID: StrictInput, Severity: fault, Text: "a subagent uses a name that is not among its inputs; a warning for $ARGUMENTS"},
	{ID: MarkerForm, Severity: doubt, Text: "the marker of an op is not in its place, misspelt, or its path has no backticks"},
	{ID: TwoForms, Severity: fault, Text: "an op that is called is defined in two ways: as a subagent, as the call of a tool, or as neither"},
	{ID: TwoMarkers, Severity: fault, Text: "an op is marked as a subagent and as the call of a tool"},
	{ID: ToolMissing, Severity: fault, Text: "the marker of a tool names none in backticks, is not in its place, or is the second of an op"},
	{ID: ToolName, Severity: fault, Text: "the marker of a tool holds what cannot be a tool's name"},
	{ID: ToolTree, Severity: fault, Text: "an op that is the call of a tool has a tree, which nothing runs"},
	{ID: NoManifest, Severity: doubt, Text: "metadata has no canopy-features"},
	{ID: UnusedFeature, Severity: doubt, Text: "canopy-features lists what nothing uses"},
	{ID: MissingFeature, Severity: doubt, Text: "canopy-features lacks a feature that the tree or an op uses"},
	{ID: CoreListed, Severity: doubt, Text: "canopy-features lists core, which is always there"},
	{ID: UnknownFeature, Severity: doubt, Text: "canopy-features lists an unknown name"},
	{ID: PrimitiveOp, Severity: fault, Text: "an op has the name of a primitive"},
	{ID: DuplicateOp, Severity: doubt, Text: "an op is defined twice"},
	{ID: EmptyOp, Severity: doubt, Text: "an op has no body"},
	{ID: OpName, Severity: doubt, Text: "an op does not fit its file's name, is never used, or calls itself always"},
	{ID: NoCategory, Severity: doubt, Text: "a file that is read is in no directory of the layout"},
	{ID: FileMissing, Severity: fault, Text: "a file does not exist; a warning when it is found at its path in the other layout"},
	{ID: VerifyMissing, Severity: fault, Text: "the checklist of VERIFY_EXPECTED does not exist"},
	{ID: PathEscapes, Severity: fault, Text: "a path leaves the skill; a warning for a skill that compatibility names"},
	{ID: SectionMissing, Severity: fault, Text: "a script or document lacks the section that is read"},
	{ID: OldLayout, Severity: hint, Text: "resources stand at the skill's root, as in the old layout"},
	{ID: WrongCategory, Severity: doubt, Text: "a file is in the directory of another category"},
	{ID: SeveralInFile, Severity: doubt, Text: "a file holds several documents, or ops that others call beside the one it is named for"},
	{ID: NoGuard, Severity: fault, Text: "no guard stops an agent without a runtime"},
	{ID: OldGuard, Severity: doubt, Text: "the guard has an old form"},
	{ID: LateGuard, Severity: fault, Text: "the guard is not the first thing in the body"},
	{ID: WeakGuard, Severity: doubt, Text: "the guard does not name canopy-runtime, or does not say to stop"},
	{ID: NoTree, Severity: fault, Text: "a skill that is meant for a runtime has no section Tree"},
	{ID: NoSections, Severity: fault, Text: "the section Rules or Response is missing"},
	{ID: Steps, Severity: doubt, Text: "the section Steps stands where Tree is meant"},
	{ID: InlineData, Severity: fault, Text: "SKILL.md holds a table, data or code"},
	{ID: TwoTrees, Severity: fault, Text: "there are two sections Tree, or it is empty"},
	{ID: HostPath, Severity: fault, Text: "a step names a directory of one host"},
	{ID: LongBody, Severity: hint, Text: "the body has more than 60 lines, guard aside"},
	{ID: LongBlock, Severity: hint, Text: "a block or paragraph has more than five lines"},
	{ID: EarlyReads, Severity: doubt, Text: "all files are read at the top instead of where they are used"},
	{ID: SectionName, Severity: doubt, Text: "a section is unknown, or sections stand out of order"},
	{ID: TooBig, Severity: fault, Text: "a file or tree is larger than the limits for reading, or not text"},
	{ID: NearTree, Severity: fault, Text: "a heading or a list is nearly a tree, or one of its sections, but is not"},
	{ID: StrayLine, Severity: fault, Text: "a line among the steps of a tree belongs to none of them, so nothing would run it"},
	{ID: OutsFirst, Severity: fault, Text: "outputs stand before inputs"},
	{ID: EmptyOperator, Severity: fault, Text: "nothing follows an operator"},
	{ID: LabelDiffers, Severity: doubt, Text: "the label of a tree differs from the skill's name or the op's signature"},
	{ID: Layout, Severity: fault, Text: "the layout of a tree is mixed, broken or uneven"},
	{ID: Chain, Severity: fault, Text: "a branch stands where it belongs to nothing"},
	{ID: LowerCase, Severity: fault, Text: "the name of a call is not in capitals"},
	{ID: ArrowOutput, Severity: fault, Text: "an arrow stands where >> is meant"},
	{ID: InlineBranch, Severity: fault, Text: "a branch stands on the line of its condition"},
	{ID: ProseAsk, Severity: fault, Text: "a question is written as prose"},
	{ID: ProsePlan, Severity: fault, Text: "showing a plan is written as prose"},
	{ID: ProseFlow, Severity: doubt, Text: "a condition, loop or jump is written as prose"},
	{ID: Clauses, Severity: doubt, Text: "a step joins several clauses"},
	{ID: LongNode, Severity: doubt, Text: "a step is longer than 120 characters or has several sentences"},
	{ID: FixedText, Severity: doubt, Text: "a step holds fixed text that belongs into a file of constants"},
	{ID: SlotText, Severity: doubt, Text: "a step holds text with slots that belongs into a template"},
	{ID: ShellCommand, Severity: doubt, Text: "a step holds a command that belongs into a script"},
	{ID: UnknownOp, Severity: fault, Text: "a call of an op that nobody defines"},
	{ID: Arity, Severity: hint, Text: "a call does not fit the op's signature: a warning when it has other inputs, an error when it has more outputs"},
	{ID: Unbound, Severity: fault, Text: "a condition, choice or loop reads a name that nothing binds; a warning where another step uses one"},
	{ID: BareWord, Severity: doubt, Text: "a bare word that nothing binds is given or bound as text"},
	{ID: NoNegative, Severity: doubt, Text: "a question offers to stop, and nothing tests for that answer"},
	{ID: DeadNodes, Severity: hint, Text: "steps follow an END or BREAK and never run"},
	{ID: NearStep, Severity: fault, Text: "a line begins with a primitive, or seems to, or holds half an operator or half a quote, and is read as something else"},
	{ID: NoCondition, Severity: fault, Text: "IF or ELSE_IF without a condition"},
	{ID: NoInput, Severity: fault, Text: "SWITCH, CASE or FOR_EACH without what it needs"},
	{ID: StrayOperators, Severity: doubt, Text: "ELSE, BREAK or DEFAULT with an operator"},
	{ID: ParallelOperators, Severity: fault, Text: "PARALLEL with an operator"},
	{ID: ParallelFew, Severity: hint, Text: "PARALLEL with fewer than two children; a warning when all of them are plain calls"},
	{ID: NoQuestion, Severity: fault, Text: "ASK without a question"},
	{ID: NoPlanFields, Severity: fault, Text: "SHOW_PLAN without >>; a warning when it has inputs"},
	{ID: VerifyPath, Severity: doubt, Text: "VERIFY_EXPECTED without a path, or with one in another directory"},
	{ID: ExploreOutput, Severity: doubt, Text: "EXPLORE without >>"},
	{ID: BoldPrimitive, Severity: doubt, Text: "a primitive in bold"},
	{ID: ParallelJump, Severity: fault, Text: "BREAK or END leaves a PARALLEL block"},
	{ID: ParallelShare, Severity: doubt, Text: "children of PARALLEL share a binding"},
	{ID: BreakTree, Severity: doubt, Text: "BREAK in the main tree ends it"},
}
