package source

import "testing"

func TestCheckName(t *testing.T) {
	for _, tt := range []struct {
		name             string
		directory, skill bool
	}{
		{"pdf", true, true}, {"pdf-2", true, true}, {"Omarchy", true, false}, {"my_skill", true, false},
		{"pdf.md/x", false, false}, {"ce:review", false, false}, {".pdf", false, false}, {"-pdf", false, false},
		{"..", false, false}, {"", false, false}, {"con", false, false}, {"a\x1bb", false, false},
	} {
		if err := CheckDirectory(tt.name); (err == nil) != tt.directory {
			t.Errorf("CheckDirectory(%q) = %v", tt.name, err)
		}
		if err := CheckName(tt.name); (err == nil) != tt.skill {
			t.Errorf("CheckName(%q) = %v", tt.name, err)
		}
	}
}
