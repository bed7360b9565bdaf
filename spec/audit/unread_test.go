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
		{"a.rs", "fn main() { let k = env::var(\"RS_KEY\"); get(\"https://rs.example/x\"); }\n", "dynamic-exec net:rs.example env:RS_KEY"},
		{"a.c", "#include <x.h>\nint main() { getenv(\"C_KEY\"); GetEnvironmentVariableW(L\"W_KEY\"); }\n", "dynamic-exec env:C_KEY env:W_KEY"},
		{"A.java", "class A { String k = System.getenv(\"J_KEY\"); URI u = URI.create(\"https://j.example\"); }\n", "dynamic-exec net:j.example env:J_KEY"},
		{"A.cs", "var k = Environment.GetEnvironmentVariable(\"CS_KEY\"); var all = Environment.GetEnvironmentVariables();\n", "dynamic-exec env:* env:CS_KEY"},
		{"a.hs", "main = lookupEnv \"HS_KEY\" >>= print\n", "dynamic-exec env:HS_KEY"},
		{"a.zig", "const k = std.process.getEnvVarOwned(a, \"ZIG_KEY\");\n", "dynamic-exec env:ZIG_KEY"},
		{"a.m", "[[NSProcessInfo processInfo] environment][@\"M_KEY\"];\n", "dynamic-exec"},
		{"a.kt", "val env = mapOf(1 to 2)\n", "dynamic-exec"},
		{"a.groovy", "x\n", "dynamic-exec"},
		{"a.csproj", "<Exec Command=\"x\"/>\n", "dynamic-exec"},
		{"a.inc", "<?php getenv('PHP_KEY');\n", "dynamic-exec env:PHP_KEY"},
		{"model.pkl", "\x80\x04", "dynamic-exec"},
		{"a.rmd", "```{r}\nx\n```\n", "dynamic-exec"},
		{"binding.gyp", "{}\n", "dynamic-exec"},
		{"run.command", "gh a\n", "run:bash run:gh"},
		{"a.gs", "UrlFetchApp; fetch('https://gs.example')\n", "run:node net:gs.example"},
		{"rule.mdc", "Run `gh a b`.\n", "run:gh"},
		{"package.json", "{\"lint-staged\": {\"*.js\": [\"gh a\"]}}\n", "run:gh"},
		{"theme.css", "a { color: red }\n", ""},
		// archives, by name or by their first bytes
		{"a.zip", "PK\x03\x04", "dynamic-exec"},
		{"a.tar.gz", "x", "dynamic-exec"},
		{"a.mcpb", "x", "dynamic-exec"},
		{"assets/font.dat", "PK\x03\x04x", "dynamic-exec"},
		{"notes.md", "PK\x03\x04x", "dynamic-exec"},
		{"data", "\x1f\x8b\x08", "dynamic-exec"},
		{"data.json", "7z\xbc\xaf\x27\x1cx", "dynamic-exec"},
		{"data.txt", strings.Repeat("\x00", 257) + "ustar\x0000", "dynamic-exec"},
		{"template.docx", "PK\x03\x04", ""},
		{"book.epub", "PK\x03\x04", ""},
		{"table.xlsx", "\x7fELF", "dynamic-exec"},
		{"logo.png", "\x89PNG\r\n\x1a\n", ""},
		{"a.txt", "PKZIP is a program.\n", ""},
		{"a.csv", "a,b\n", ""},
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
