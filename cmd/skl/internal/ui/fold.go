package ui

import "io"

// Folded is Raw for what people read: on a terminal, lines that are too wide go on below.
func (u *UI) Folded(data []byte) {
	u.clear()
	if u.Screen {
		data = []byte(u.Look().Fold(onScreen(string(data))))
	}
	u.Out.Write(data)
}

// Tree writes a tree that is drawn with lines, with the signs that Out can show; on a terminal it is folded as Folded does.
func (u *UI) Tree(text string) {
	u.clear()
	text = u.Look().Drawn(text)
	if u.Screen {
		text = u.Look().FoldTree(onScreen(text))
	}
	io.WriteString(u.Out, text)
}
