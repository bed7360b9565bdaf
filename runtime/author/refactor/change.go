package refactor

// A Change is a file before and after: nil where it is not there. Executable is that of the file that stays or comes.
type Change struct {
	Was, Now   []byte
	Executable bool
}
