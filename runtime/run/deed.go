package run

// Sources of the permission for a call or a step of the tree, in [Deed.Leave].
const (
	LeaveAllow  = "allow"  // --allow, or what a person answered before the run began
	LeaveConfig = "config" // the person's configuration
	LeaveKept   = "kept"   // an earlier answer that was kept
	LeavePerson = "person" // an answer when it came to it
)

// A Deed is what a call of a tool, a script or a write of the tree did, as far as that is known.
type Deed struct {
	Leave   string   `json:"leave,omitempty"`   // who allowed it; "" if that needs nobody's leave
	Changed []Change `json:"changed,omitempty"` // files below the working directory, sorted; of a program those that changed while it ran
	Unknown string   `json:"unknown,omitempty"` // why it may have changed more there; "" if it did not
}

// A Change is what became of a file.
type Change struct {
	Path   string `json:"path"`             // with slashes
	What   string `json:"what"`             // created, changed or deleted
	Bytes  int64  `json:"bytes"`            // afterwards
	Digest string `json:"digest,omitempty"` // of the text afterwards, "sha256:" and hexadecimal digits; "" where it was not read
}

// Kinds of a [Change] to a file.
const (
	Created = "created"
	Changed = "changed"
	Deleted = "deleted"
)
