package lang

import "strings"

// words reads Ruby and Lua, whose blocks end with a word.
func (r *tableReader) words() {
	ruby := r.t.language == Ruby
	begins, loop := true, false // of a statement; its "do" belongs to while, until or for
	var before tableToken
	for {
		tok := r.wordsNext(before, begins)
		switch {
		case tok.kind == 0:
			for len(r.scopes) > 0 {
				r.close(r.at)
			}
			return
		case tok.kind == '\n' || tok.kind == ';':
			begins, loop, before = true, false, tableToken{}
			continue
		case tok.kind == '=' && ruby && before.kind == 'w' && r.margin(before.start) && r.at < len(r.src) && strings.IndexByte("=~>", r.src[r.at]) < 0:
			if c := r.src[before.start]; c >= 'A' && c <= 'Z' && r.margin(before.start) {
				i := r.symbol(Constant, before.start, r.endOfLine(), before.start, before.end)
				r.file.Symbols[i].Exported = true
				r.docOf(i, before.start)
			}
		case tok.kind == 'w' && before.kind != '.' && (before.kind != ':' || !ruby || begins):
			word := r.textOf(tok)
			if ruby && r.at < len(r.src) && r.src[r.at] == ':' && !r.is("::") { // a key of a hash
				break
			}
			start := begins || strings.IndexByte("=(|&,{[>", before.kind) >= 0 && before.kind != 0
			switch word {
			case "def", "class", "module", "function":
				if r.key(tok) != nil && (word != "class" && word != "module" || begins) {
					r.wordDefinition(tok, before)
					begins, before = word != "function", tableToken{}
					continue
				}
			case "end", "until":
				if word == "end" || !ruby {
					r.closeWord(tok)
				} else if start {
					r.openWord(tok)
					loop = true
				}
			case "do":
				if !loop {
					r.openWord(tok)
				}
				loop = false
				begins, before = true, tableToken{}
				continue
			case "if", "unless", "case", "begin", "repeat":
				if ruby && word != "repeat" && (start || word == "case" || word == "begin" || before.kind == 'w' && r.among(" return else then do and or not ", before)) || !ruby && (word == "if" || word == "repeat") {
					r.openWord(tok)
				}
			case "while", "for":
				if ruby && start {
					r.openWord(tok)
					loop = true
				}
			case "then", "else", "elsif", "ensure", "rescue":
				begins, before = true, tok
				continue
			case "__END__":
				if ruby && tok.start == r.lineOf(tok.start) {
					r.at = len(r.src)
				}
			}
		}
		begins, before = false, tok
	}
}

func (r *tableReader) endOfLine() int {
	if i := strings.IndexByte(string(r.src[r.at:min(len(r.src), r.at+2000)]), '\n'); i >= 0 {
		return r.at + i
	}
	return len(r.src)
}

// wordsNext is next, with what Ruby writes in its own ways: symbols, characters, words of a list, regular expressions, here-documents.
func (r *tableReader) wordsNext(before tableToken, begins bool) tableToken {
	if r.t.language != Ruby {
		return r.next()
	}
	for r.at < len(r.src) && (r.src[r.at] == ' ' || r.src[r.at] == '\t' || r.src[r.at] == '\r') {
		r.at++
	}
	start := r.at
	if start >= len(r.src) {
		return r.next()
	}
	value := begins || before.kind == 0 || strings.IndexByte("=(,[{|&!<>+*-?:~", before.kind) >= 0 ||
		before.kind == 'w' && (r.among(" if unless when and or not return while until elsif in puts raise ", before) ||
			start > before.end && start+1 < len(r.src) && !isBlank(r.src[start+1]) && r.src[start+1] != '=')
	switch c := r.src[start]; {
	case c == ':' && start+1 < len(r.src) && r.src[start+1] == ':':
		r.at += 2
		return tableToken{':', start, r.at}
	case c == ':' && start+1 < len(r.src) && (r.letter(r.src[start+1])):
		r.at++
		r.word()
		return tableToken{'s', start, r.at}
	case c == '/' && value:
		if r.delimited('/', '/', true) {
			return tableToken{'s', start, r.at}
		}
	case c == '%' && value && !r.loose && start+2 < len(r.src):
		at := start + 1
		if strings.IndexByte("wWiIqQrx", r.src[at]) >= 0 {
			at++
		}
		if open := r.src[at]; strings.IndexByte("([{<|!/", open) >= 0 {
			r.at = at
			closer := open
			if k := strings.IndexByte("([{<", open); k >= 0 {
				closer = ")]}>"[k]
			}
			if r.delimited(open, closer, false) {
				return tableToken{'s', start, r.at}
			}
			r.at = start
		}
	case c == '?' && value && start+2 < len(r.src) && r.src[start+1] > ' ' && !r.letter(r.src[start+2]):
		r.at += 2
		return tableToken{'s', start, r.at}
	case c == '<' && r.is("<<") && start+3 < len(r.src) && (r.src[start+2] == '~' || r.src[start+2] == '-' || r.src[start+2] >= 'A' && r.src[start+2] <= 'Z' && value) && r.src[start+3] != ' ':
		r.hereWord()
		return tableToken{'s', start, r.at}
	case c == '$' && start+1 < len(r.src) || c == '@':
		for r.at++; r.at < len(r.src) && (r.src[r.at] == '@' || strings.IndexByte("'\"`/", r.src[r.at]) >= 0 && c == '$'); r.at++ {
		}
		r.word()
		return tableToken{'n', start, r.at}
	}
	return r.next()
}

// delimited passes over a text up to a closer, unless it ends with the line (one that must), or the file.
func (r *tableReader) delimited(open, closer byte, line bool) bool {
	start, depth := r.at, 0
	for p := start + 1; p < len(r.src) && p < start+(64<<10); p++ {
		switch c := r.src[p]; {
		case c == '\\':
			p++
		case c == closer:
			if depth--; depth < 0 {
				r.at = p + 1
				return true
			}
		case c == open:
			depth++
		case c == '\n' && line:
			return false
		}
	}
	r.loose = r.loose || !line // so that no other is looked for to the end
	return false
}

func (r *tableReader) openWord(tok tableToken) {
	if len(r.scopes) < maxScopes {
		r.scopes = append(r.scopes, tableScope{symbol: -1, start: tok.start, typ: len(r.scopes) > 0 && r.scopes[len(r.scopes)-1].typ})
	}
}

// closeWord ends the innermost block. One at the margin of a definition ends that: blocks in it were counted wrongly.
func (r *tableReader) closeWord(tok tableToken) {
	column := tok.start - r.lineOf(tok.start)
	if r.margin(tok.start) {
		for n := len(r.scopes) - 1; n >= 0 && n >= len(r.scopes)-8; n-- {
			if s := r.scopes[n]; s.symbol >= 0 && s.column && s.start-r.lineOf(s.start) == column {
				for len(r.scopes) > n+1 {
					r.close(tok.start)
				}
				break
			}
		}
	}
	r.close(tok.end)
}

// wordDefinition reads the head of a class, module or function.
func (r *tableReader) wordDefinition(tok, before tableToken) {
	k := *r.key(tok)
	start := tok.start
	if before.kind == 'w' && r.said(before, "local") {
		start = before.start
	}
	s := tableScope{symbol: -1, start: start, column: r.margin(start)}
	var d definition
	d.kind = k.kind
	if r.t.language == Lua {
		r.luaName(&d, before)
	} else {
		r.rubyName(&d, k)
	}
	if len(r.scopes) > 0 {
		outer := r.scopes[len(r.scopes)-1]
		if d.kind == Function && (outer.typ || d.owner != "") {
			d.kind = Method
		}
	} else if d.kind == Function && d.owner != "" {
		d.kind = Method
	}
	if d.end > d.start {
		if d.start < start {
			start = d.start
		}
		s.symbol = r.symbol(d.kind, start, r.at, d.start, d.end)
		sym := &r.file.Symbols[s.symbol]
		sym.Owner, sym.Exported = d.owner, true
		if before.kind == 'w' && r.said(before, "local") {
			sym.Exported = false
		}
		if d.group > 0 {
			sym.Signature = oneLine(r.src[d.group:r.at], maxSignature)
		}
		r.docOf(s.symbol, r.lineOf(start)+r.blanks(r.lineOf(start)))
	}
	s.typ = k.kind != Function
	if d.naming == opaque { // "def name = …" and "class << self" without end
		return
	}
	if len(r.scopes) < maxScopes {
		r.scopes = append(r.scopes, s)
	}
}

func (r *tableReader) blanks(p int) int {
	n := 0
	for p+n < len(r.src) && (r.src[p+n] == ' ' || r.src[p+n] == '\t') {
		n++
	}
	return n
}

// luaName reads "a.b:c(…)", or takes the name before "=".
func (r *tableReader) luaName(d *definition, before tableToken) {
	tok := r.next()
	for tok.kind == 'w' {
		if d.end > d.start {
			d.owner = string(r.src[d.start:d.end])
		}
		d.start, d.end = tok.start, tok.end
		save := r.at
		if tok = r.next(); tok.kind != '.' && tok.kind != ':' {
			if tok.kind != '(' {
				r.at = save
			}
			break
		}
		tok = r.next()
	}
	if tok.kind == '(' {
		d.group = tok.start
		if r.at = tok.start; !r.group() {
			r.at = tok.end
		}
	}
	if d.end == d.start && before.kind == '=' {
		p := before.start
		for p > 0 && (r.src[p-1] == ' ' || r.src[p-1] == '\t') {
			p--
		}
		end := p
		for p > 0 && (r.letter(r.src[p-1]) || r.src[p-1] >= '0' && r.src[p-1] <= '9') {
			p--
		}
		if p < end && r.letter(r.src[p]) {
			d.start, d.end = p, end
			if p > 0 && (r.src[p-1] == '.' || r.src[p-1] == ':') {
				q := p - 1
				for q > 0 && (r.letter(r.src[q-1]) || r.src[q-1] >= '0' && r.src[q-1] <= '9') {
					q--
				}
				d.owner = string(r.src[q : p-1])
			}
		}
	}
}

// rubyName reads the name behind def, class or module.
func (r *tableReader) rubyName(d *definition, k key) {
	p := r.at
	for p < len(r.src) && (r.src[p] == ' ' || r.src[p] == '\t') {
		p++
	}
	if k.kind == Function {
		r.rubyMethod(d, p)
		return
	}
	if p < len(r.src) && r.src[p] == '<' { // class << self
		r.at = p
		for r.at < len(r.src) && r.src[r.at] != '\n' && r.src[r.at] != ';' {
			r.at++
		}
		return
	}
	start := p
	for p < len(r.src) && (r.letter(r.src[p]) || r.src[p] >= '0' && r.src[p] <= '9' || r.src[p] == ':' && p+1 < len(r.src) && (r.src[p+1] == ':' || r.src[p-1] == ':')) {
		p++
	}
	d.start, d.end = start, p
	if i := strings.LastIndex(string(r.src[start:p]), "::"); i >= 0 {
		d.start += i + 2
		d.owner = string(r.src[start : start+i])
	}
	r.at = p
	for r.at < len(r.src) && r.src[r.at] != '\n' && r.src[r.at] != ';' && r.src[r.at] != '#' { // the class above
		r.at++
	}
}

// rubyMethod reads "self.name=(…)", and "[]" and the like.
func (r *tableReader) rubyMethod(d *definition, p int) {
	for {
		start := p
		for p < len(r.src) && (r.letter(r.src[p]) || r.src[p] >= '0' && r.src[p] <= '9') {
			p++
		}
		if p > start && p < len(r.src) && r.src[p] == '.' {
			d.owner = string(r.src[start:p])
			p++
			continue
		}
		if p == start {
			for p < len(r.src) && strings.IndexByte(nameChars+"=`@", r.src[p]) >= 0 {
				p++
			}
		} else if p < len(r.src) && (r.src[p] == '?' || r.src[p] == '!' || r.src[p] == '=' && p+1 < len(r.src) && (r.src[p+1] == '(' || r.letter(r.src[p+1]))) {
			p++
		}
		d.start, d.end = start, p
		break
	}
	if d.owner == "self" {
		d.owner = ""
		for i := len(r.scopes) - 1; i >= 0; i-- {
			if s := r.scopes[i].symbol; s >= 0 && r.scopes[i].typ {
				d.owner = r.file.Symbols[s].Name
				break
			}
		}
	}
	for p < len(r.src) && (r.src[p] == ' ' || r.src[p] == '\t') {
		p++
	}
	r.at = p
	if p < len(r.src) && r.src[p] == '(' && r.group() {
		d.group = p
	}
	for p = r.at; p < len(r.src) && (r.src[p] == ' ' || r.src[p] == '\t'); p++ {
	}
	if p+1 < len(r.src) && r.src[p] == '=' && r.src[p+1] != '=' && r.src[p+1] != '~' {
		d.naming = opaque // has no end
	}
}
