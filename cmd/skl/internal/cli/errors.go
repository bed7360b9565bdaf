package cli

// errorCodes is every code of errors, with what it means. A test compares it with the
// codes in the source.
var errorCodes = [][2]string{
	{"ambiguous_ref", "a reference holds several skills and none was named"},
	{"ambiguous_skill", "several skills of one release have this name"},
}
