package ui

import "sync"

// A muted holds back what is told while a picker is drawn: its previews are computed beside it.
type muted struct {
	mu   sync.Mutex
	on   bool
	held []func()
}

// holds reports whether nothing may be written now; what is said then is said later.
func (m *muted) holds(say func()) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.on && say != nil {
		m.held = append(m.held, say)
	}
	return m.on
}

// mute holds back what is told, or lets it through again and says what was held.
func (u *UI) mute(on bool) {
	u.muted.mu.Lock()
	held := u.muted.held
	u.muted.on, u.muted.held = on, nil
	u.muted.mu.Unlock()
	for _, say := range held {
		say()
	}
}
