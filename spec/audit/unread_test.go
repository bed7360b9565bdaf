package audit

import (
	"fmt"
	"strings"
	"testing"
)

// Literal addresses and variables are found even in code that no scanner reads, which is dynamic-exec as well.
func TestUnread(t *testing.T) {
	for _, test := range []struct{ file, src, want string }{
		{"a.R", "# see https://docs.example\nkey <- Sys.getenv(\"R_KEY\")\nreadLines(\"https://r.example/x\")\nall <- Sys.getenv()\n", "dynamic-exec net:r.example env:* env:R_KEY"},
		{"a.rb", "k = ENV['RB_KEY'] || ENV.fetch(\"RB_TWO\")\nURI.open('http://rb.example:80/x')\n", "dynamic-exec net:rb.example env:RB_KEY env:RB_TWO"},
		{"a.pl", "my $k = $ENV{PL_KEY}; get('https://pl.example');\n", "dynamic-exec net:pl.example env:PL_KEY"},
		{"a.php", "$k = getenv('PHP_KEY'); $l = $_ENV[\"PHP_TWO\"]; file_get_contents('https://php.example');\n", "dynamic-exec net:php.example env:PHP_KEY env:PHP_TWO"},
		{"a.lua", "local k = os.getenv(\"LUA_KEY\")\nlocal u = \"wss://lua.example/x\"\n", "dynamic-exec net:lua.example env:LUA_KEY"},
		{"a.bat", "REM http://rem.example\ncurl http://bat.example/%BAT_KEY%\n", "dynamic-exec net:bat.example env:BAT_KEY"},
		{"a.exe", "MZ\x90\x00https://exe.example", "dynamic-exec"},
	} {
		got := strings.Join(Read([]File{{Path: test.file, Data: []byte(test.src)}}).Set().Texts(), " ")
		if got != test.want {
			t.Errorf("%s: %q, want %q", test.file, got, test.want)
		}
	}
}

// An update is asked about files that no scanner reads where their bytes are new, whatever was granted before.
func TestUnreadUpdates(t *testing.T) {
	for _, test := range []struct{ old, next, want string }{
		{"a.rb=1", "a.rb=1", ""},
		{"a.rb=1", "a.rb=2", "dynamic-exec [{a.rb 1}]"},
		{"a.rb=1", "b.rb=1", ""},
		{"a.rb=1", "a.rb=1 b.pl=2", "dynamic-exec [{b.pl 1}]"},
		{"a.rb=1 b.rb=2", "a.rb=1", ""},
		{"a.exe=1", "a.exe=2", "dynamic-exec [{a.exe 1}]"},
		{"mcp.json={", "mcp.json={{", "dynamic-exec [{mcp.json 1}]"},
		{"a.py=eval(x)", "a.py=eval(y) b.rb=1", "dynamic-exec [{b.rb 1}]"},
		{"a.py=eval(x)", "a.py=eval(y)", ""},
		{"", "a.rb=1", "dynamic-exec [{a.rb 1}]"},
	} {
		release := func(text string) Report {
			var files []File
			for _, f := range strings.Fields(text) {
				name, data, _ := strings.Cut(f, "=")
				files = append(files, File{Path: name, Data: []byte(data)})
			}
			return Read(files)
		}
		old, next := release(test.old), release(test.next)
		var got []string
		for _, p := range escalations(old.Granted(next), next.Set()) {
			got = append(got, fmt.Sprint(p, " ", next.Gained(old, p)))
		}
		if got := strings.Join(got, ", "); got != test.want {
			t.Errorf("%s → %s: %q, want %q", test.old, test.next, got, test.want)
		}
	}
}
