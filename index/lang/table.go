package lang

// A table is all that is known of a language whose definitions one scanner reads: its comments, strings and
// words, and which words introduce what. See [Approximate].
type table struct {
	language Language
	names    string // extensions and names of files, in small letters, with space around each
	line     string // what opens a comment to the end of the line; several have space between
	open     string // what opens and closes a comment of several lines
	close    string
	quotes   string // characters that open and close a string
	tall     string // those of quotes whose strings may have several lines
	code     string // what opens code within a string, up to the bracket that closes it
	letters  string // that words have besides letters, digits and "_"
	keys     []key
	not      string // words before parentheses that name no function, with space around each
	public   string // words one of which an exported definition has; "" for none
	private  string // words that an exported definition does not have
	rules    rule
}

// A key is a word that introduces a definition.
type key struct {
	word   string
	kind   Kind
	naming naming
}

// A naming says where the name stands.
type naming uint8

const (
	next    naming = iota // behind the key
	opaque                // also, and nothing in the body is a definition
	dotted                // behind the key, with dots or colons
	called                // before the first parentheses
	typed                 // behind the key, before a colon
	tagged                // the last word before the body or a colon, if there are no parentheses: struct, as C has it
	alias                 // where a declaration has it: typedef
	renamed               // behind the key, if "=" follows: using
	itself                // the key is the name
	labels                // the last string behind the key
	object                // SQL: behind the kind of object that CREATE makes
)

// A rule says how a language is read.
type rule uint32

const (
	nested     rule = 1 << iota // comments of several lines nest
	newlines                    // the end of a line ends a statement
	directives                  // lines that begin with "#" are for a preprocessor
	callables                   // a name before parentheses is a function if a body follows
	abstract                    // or, in a type, ";"
	fields                      // in a type, what is declared without parentheses is a field
	globals                     // and outside of all types a variable
	properties                  // fields may have a body
	reads                       // bodies of functions are read, too
	folded                      // keys are in any case
	triple                      // strings in three quotes
	verbatim                    // strings behind "@" have no escapes, those behind "$" have code
	raw                         // strings behind "R" end with what they name; declarators follow types
	dollars                     // strings between $words$
	doubled                     // a quote in a string is two, and nothing is escaped
	oldStyle                    // declarations of parameters may follow the parentheses
	ends                        // blocks end with a word
	commands                    // of a shell: here-documents, "#" only before words, parentheses that are not closed
	blocks                      // any word may introduce a block: HCL
	inside                      // what parentheses hold is read
	assigns                     // what is assigned is a definition: R
)

func (t *table) has(r rule) bool { return t.rules&r != 0 }

// Approximate says whether the symbols of a language are read by a table: its definitions alone, no references, and, in files that
// are written unusually, not all of them.
func Approximate(l Language) bool { return tableOf(l) != nil }

func tableOf(l Language) *table {
	for i := range tables {
		if tables[i].language == l {
			return &tables[i]
		}
	}
	return nil
}

const (
	notC    = " if for while switch catch return else do sizeof case goto delete new throw using operator __attribute__ __declspec __asm__ asm decltype noexcept alignas static_assert requires defined typeof __typeof__ "
	notJava = " if for while switch catch return else do new throw synchronized try super this assert lock using fixed foreach nameof typeof sizeof checked unchecked when base "
)

var tables = [...]table{
	{language: Java, names: " .java ", line: "//", open: "/*", close: "*/", quotes: "\"'", letters: "$", not: notJava,
		keys:   []key{{"class", Class, next}, {"interface", Class, next}, {"enum", Enum, next}, {"record", Struct, next}},
		public: " public ", rules: callables | abstract | fields | triple},
	{language: Kotlin, names: " .kt .kts ", line: "//", open: "/*", close: "*/", quotes: "\"'`", code: "${",
		keys: []key{{"class", Class, next}, {"interface", Class, next}, {"object", Class, next}, {"enum", Enum, next}, {"typealias", Struct, next},
			{"fun", Function, called}, {"val", Variable, typed}, {"var", Variable, typed}},
		private: " private internal ", rules: nested | newlines | triple},
	{language: C, names: " .c ", line: "//", open: "/*", close: "*/", quotes: "\"'", not: notC,
		keys:    []key{{"struct", Struct, tagged}, {"union", Struct, tagged}, {"enum", Enum, tagged}, {"typedef", Struct, alias}},
		private: " static ", rules: directives | callables | globals | oldStyle | raw},
	{language: CPP, names: " .h .cc .cpp .cxx .hpp .hh .hxx .inl .ipp .c++ .h++ ", line: "//", open: "/*", close: "*/", quotes: "\"'", not: notC,
		keys: []key{{"class", Class, tagged}, {"struct", Struct, tagged}, {"union", Struct, tagged}, {"enum", Enum, tagged}, {"typedef", Struct, alias},
			{"using", Struct, renamed}, {"namespace", Module, dotted}},
		private: " static ", rules: directives | callables | globals | raw},
	{language: CSharp, names: " .cs ", line: "//", open: "/*", close: "*/", quotes: "\"'", letters: "@", not: notJava,
		keys: []key{{"class", Class, next}, {"interface", Class, next}, {"struct", Struct, next}, {"record", Struct, next}, {"enum", Enum, opaque},
			{"delegate", Struct, called}, {"namespace", Module, dotted}},
		public: " public ", rules: directives | callables | abstract | fields | properties | verbatim | triple},
	{language: Ruby, names: " .rb .rake .gemspec .ru rakefile gemfile vagrantfile ", line: "#", open: "=begin", close: "=end", quotes: "\"'`", tall: "\"'`", code: "#{",
		keys:  []key{{"class", Class, dotted}, {"module", Module, dotted}, {"def", Function, called}},
		rules: newlines | ends},
	{language: PHP, names: " .php .phtml .inc ", line: "// #", open: "/*", close: "*/", quotes: "\"'`", tall: "\"'`", letters: "$\\",
		keys: []key{{"class", Class, next}, {"interface", Class, next}, {"trait", Class, next}, {"enum", Enum, next}, {"function", Function, called},
			{"namespace", Module, next}, {"const", Constant, typed}},
		private: " private protected ", rules: reads | folded | fields},
	{language: Swift, names: " .swift ", line: "//", open: "/*", close: "*/", quotes: "\"`", code: "\\(",
		keys: []key{{"class", Class, next}, {"protocol", Class, next}, {"actor", Class, next}, {"struct", Struct, next}, {"extension", Struct, dotted}, {"enum", Enum, next},
			{"typealias", Struct, next}, {"func", Function, called}, {"init", Function, itself}, {"deinit", Function, itself}, {"subscript", Function, itself},
			{"var", Variable, typed}, {"let", Variable, typed}, {"macro", Macro, called}},
		private: " private fileprivate ", rules: nested | newlines | triple},
	{language: Shell, names: " .sh .bash .zsh .ksh .bats .bashrc .zshrc .profile .bash_profile ", line: "#", quotes: "\"'`", tall: "\"'`", letters: "-.:+@,?%!/~",
		rules: newlines | reads | commands | inside},
	{language: HCL, names: " .tf .hcl .tfvars .nomad ", line: "# //", open: "/*", close: "*/", quotes: "\"", code: "${", letters: "-",
		keys:  []key{{"variable", Variable, labels}, {"output", Variable, labels}, {"module", Module, labels}, {"provider", Module, labels}},
		rules: newlines | blocks},
	{language: Protobuf, names: " .proto ", line: "//", open: "/*", close: "*/", quotes: "\"'",
		keys: []key{{"message", Struct, next}, {"enum", Enum, opaque}, {"service", Class, next}, {"rpc", Method, next}, {"package", Module, dotted}}},
	{language: SQL, names: " .sql .ddl .pgsql ", line: "-- #", open: "/*", close: "*/", quotes: "'\"`", tall: "'\"`", letters: "@#",
		keys: []key{{"create", Struct, object}}, rules: folded | dollars | doubled},
	{language: Lua, names: " .lua ", line: "--", quotes: "\"'",
		keys: []key{{"function", Function, called}}, rules: newlines | ends | inside},
	{language: R, names: " .r .rprofile ", line: "#", quotes: "\"'`", tall: "\"'`", letters: ".", rules: newlines | inside | assigns},
}

// nameChars are the punctuation of operators that may be names.
const nameChars = "+-*/%<>=!&|^~?[]"
