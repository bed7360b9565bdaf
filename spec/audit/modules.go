package audit

import (
	"slices"
	"strings"
	"sync"
)

// runnable are the modules of Python's own library, and its usual tools, that are run by name.
var runnable = sync.OnceValue(func() map[string]bool {
	m := map[string]bool{}
	for _, name := range strings.Fields(`ast asyncio base64 calendar cgi code codeop compileall cProfile ctypes curses dis doctest email ensurepip encodings fileinput filecmp ftplib gzip html http idlelib
		imaplib inspect json lib2to3 locale mailbox mimetypes modulefinder pdb pickle pickletools platform poplib posixpath pprint profile pstats py_compile pyclbr pydoc quopri random site smtpd sqlite3
		symtable sysconfig tabnanny tarfile telnetlib test textwrap this timeit tkinter tokenize trace turtledemo types unittest urllib uuid venv webbrowser xml xmlrpc zipapp zipfile zipimport`) {
		m[name] = true
	}
	return m
})

// tools are packages of Python that are programs too.
const tools = " pytest ruff black mypy isort flake8 pylint build twine coverage tox nox pre_commit virtualenv setuptools_scm playwright streamlit uvicorn gunicorn flask django celery jupyter ipykernel notebook mkdocs sphinx cython poetry hatch hatchling pyright bandit spacy nltk "

// runsModule notes the module that python3 -m starts. One that is neither Python's nor the skill's is not known.
func (a *auditor) runsModule(args []value, line int, prose bool) {
	for i, v := range args {
		word := v.or()[0]
		name, rest := value(nil), args[i+1:]
		switch {
		case slices.Contains(v, "-m") && len(rest) > 0:
			name, rest = rest[0], rest[1:]
		case strings.HasPrefix(word, "-m") && len(word) > 2:
			name = value{word[2:]}
		case word == "-W" || word == "-X" || len(word) > 1 && word[0] == '-' && word[1] != 'c':
			continue
		case i > 0 && has(" -W -X ", args[i-1].or()[0]):
			continue
		default:
			return
		}
		for _, module := range name {
			a.startsModule(module, rest, line, prose)
		}
		return
	}
}

func (a *auditor) startsModule(name string, args []value, line int, prose bool) {
	first, _, _ := strings.Cut(name, ".")
	file := strings.ReplaceAll(name, ".", "/")
	_, manages := managers()[name]
	switch {
	case name == "pip":
		a.exec(append([]value{{"pip"}}, args...), nil, line, prose)
	case manages:
		a.installs(name, args, line)
		a.add(Run, name, line)
	case runnable()[first]:
	case a.owns(file+".py") != "" || a.owns(file+"/__main__.py") != "":
	case strings.IndexByte(name, hole) >= 0 && prose:
	case has(tools, first) || prose && isProgram(name):
		a.add(Run, name, line)
	default:
		a.add(Dynamic, "", line)
	}
}
