package refactor

import "testing"

// Bodies are equal when line ends, blanks at line ends and units of indentation alone tell them apart.
func TestNormal(t *testing.T) {
	const body = "* a\n  * b\n    * c\n  * d\n\ntext\n"
	for _, test := range []struct {
		name, other string
		same        bool
	}{
		{"line ends", "* a\r\n  * b\r\n    * c\r\n  * d\r\n\r\ntext\r\n", true},
		{"no last line end", "* a\n  * b\n    * c\n  * d\n\ntext", true},
		{"blanks at line ends", "* a  \n  * b\t\n    * c\n  * d\n \t\ntext\n\n", true},
		{"four blanks a level", "* a\n    * b\n        * c\n    * d\n\ntext\n", true},
		{"tabs", "* a\n\t* b\n\t\t* c\n\t* d\n\ntext\n", true},
		{"another level", "* a\n  * b\n  * c\n  * d\n\ntext\n", false},
		{"another case", "* A\n  * b\n    * c\n  * d\n\ntext\n", false},
		{"another bullet", "- a\n  * b\n    * c\n  * d\n\ntext\n", false},
		{"an empty line less", "* a\n  * b\n    * c\n  * d\ntext\n", false},
		{"blanks inside", "*  a\n  * b\n    * c\n  * d\n\ntext\n", false},
	} {
		if same := normal(body) == normal(test.other); same != test.same {
			t.Errorf("%s: same is %v: %q and %q", test.name, same, normal(body), normal(test.other))
		}
	}
	if a, b := "```py\nif x:\n  y\n```\n", "```py\nif x:\n    y\n```\n"; normal(a) == normal(b) {
		t.Error("the indentation of code does not count")
	}
	if a, b := "```\n  x\n```\n  y\n  z\n", "```\n  x\n```\n    y\n    z\n"; normal(a) != normal(b) {
		t.Error("a fence does not end")
	}
}
