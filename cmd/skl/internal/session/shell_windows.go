package session

import (
	"fmt"
	"os"
)

// loginSession names the session that skl was started in: the shell, or the agent, that started it.
func loginSession() string { return fmt.Sprint(os.Getppid()) }
