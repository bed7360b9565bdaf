package run

import (
	"github.com/skl-project/skl/spec/tree/resource"
)

func (at visit) end() error {
	at.begin(nil)
	at.told(at.n.Message)
	message, doubtful := resource.InterpolateEnd(at.n.Message, at.s.args, at.lookupText)
	if doubtful {
		at.warn("end_word", "the last word of the message is a name with a value, which is shown in its place")
	}
	if message == "" || at.top().ByAnswer {
		return endSignal{Status: Ended, Message: message}
	}
	return endSignal{Status: Halted, Exit: exitHalted, Message: message}
}
