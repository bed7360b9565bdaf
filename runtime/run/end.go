package run

import (
	"github.com/skl-project/skl/spec/tree"
	"github.com/skl-project/skl/spec/tree/resource"
)

func (m *Machine) visitEnd(f *frame, n *tree.Node, path string) error {
	m.begin(n, path, nil)
	m.told(n, n.Message)
	message, doubtful := resource.InterpolateEnd(n.Message, m.s.args, m.lookupText)
	if doubtful {
		m.warn("end_word", "the last word of the message is a name with a value, which is shown in its place")
	}
	if message == "" || m.top().ByAnswer {
		return endSignal{Status: Ended, Message: message}
	}
	return endSignal{Status: Halted, Exit: exitHalted, Message: message}
}
