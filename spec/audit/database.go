package audit

import "strings"

// How a text of SQL has a program started, and how it reaches files, code and hosts beside the database.
var (
	fromProgram = pattern{text: `(?is)\b(?:TO|FROM)(?:\s|/\*.*?\*/|--[^\n]*\n)+PROGRAM\b(?:\s|/\*.*?\*/|--[^\n]*\n)*(?:E?'((?:[^']|'')*)'|[$:]|U&')`}
	cmdshell    = pattern{text: `(?is)\bxp_cmdshell\b[\])\s]*\(?\s*(?:@\w+\s*=\s*)?(?:N?'((?:[^']|'')*)')?`}
	bangs       = pattern{text: `(?m)(?:\\!|^[ \t]*(?:\.shell\b|\.system\b|!!))[ \t]*(.*)$`}
	pipes       = pattern{text: `(?m)\\(?:o|out|g|gx|w|write|copy\b.*)[ \t]*\|[ \t]*(.*)$`}
	fromFile    = pattern{text: `(?i)\b(?:load_file|lo_import|pg_read_(?:binary_)?file|readfile|read_text|read_blob|infile)\s*\(?\s*(?:E?'([^']*)')?`}
	toFile      = pattern{text: `(?i)\b(?:(?:outfile|dumpfile)|lo_export\s*\([^,']*,|(?:writefile|pg_file_write)\s*\()\s*(?:E?'([^']*)')?`}
	foreign     = pattern{text: `(?i)\b(?:load_extension|sys_exec|sys_eval|sp_oacreate|sp_execute_external_script|openrowset|opendatasource|utl_http|utl_tcp|utl_file|dbms_scheduler|dblink(?:_\w+)?\s*\(|http_get|http_post|soname\s|external\s+name\s|language\s+'?(?:c|java|\w+u)\b)|^[ \t]*\\gexec`}
)

// database reads a text of SQL: the programs that it starts, and the files and the code that it has a database use. The rest acts on data alone.
func (a *auditor) database(src string, line int) {
	for _, p := range []*pattern{&fromProgram, &cmdshell, &bangs, &pipes} {
		a.each(p, src, line, func(text string, line int) {
			if text == "" {
				a.add(Dynamic, "", line)
			} else {
				a.command(text, line)
			}
		})
	}
	files := func(k Kind) func(text string, line int) {
		return func(text string, line int) {
			if text == "" {
				text = holeText
			}
			a.use(k, text, line)
		}
	}
	a.each(&fromFile, src, line, files(Reads))
	a.each(&toFile, src, line, files(Writes))
	if m := foreign.get().FindStringIndex(src); m != nil {
		a.add(Dynamic, "", line+strings.Count(src[:m[0]], "\n"))
		for i, text := range linesOf(src) {
			for _, url := range literals.get().FindAllString(text, -1) {
				a.net(url, false, line+i)
			}
		}
	}
}

// each calls f with what the group of each match of p holds, and its line.
func (a *auditor) each(p *pattern, src string, line int, f func(text string, line int)) {
	at := 0
	for n, m := range p.get().FindAllStringSubmatchIndex(src, maxAsked) {
		line += strings.Count(src[at:m[0]], "\n")
		at = m[0]
		text := ""
		if m[2] >= 0 {
			text = strings.TrimSpace(strings.ReplaceAll(src[m[2]:m[3]], "''", "'"))
		}
		f(text, line)
		if n == maxAsked-1 {
			a.add(Dynamic, "", line)
		}
	}
}

// sitepath reads a .pth file of Python, in which lines that begin with import run when Python starts.
func (a *auditor) sitepath(src string, line int) {
	lines := linesOf(strings.ReplaceAll(src, "\r", "\n"))
	for i, text := range lines {
		if !strings.HasPrefix(text, "import ") && !strings.HasPrefix(text, "import\t") {
			lines[i] = ""
		}
	}
	a.part(python, strings.Join(lines, "\n"), line)
}
