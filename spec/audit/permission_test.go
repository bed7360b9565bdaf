package audit

import "testing"

// Names of variables that want a yes are those of credentials, whatever stands around the word.
func TestSecretNames(t *testing.T) {
	for name, want := range map[string]bool{
		"*": true, "API_KEY": true, "GITHUB_TOKEN": true, "STRIPE_SK": true, "KUBECONFIG": true, "NETRC": true, "SSH_AUTH_SOCK": true, "REDIS_URL": true, "MONGODB_URI": true,
		"TLS_CERT": true, "PGPASSWORD": true, "DB_PASS": true, "GH_PAT": true, "VAULT_ADDR": true,
		"HOME": false, "PATH": false, "PWD": false, "OLDPWD": false, "PATTERN": false, "TASK": false, "SKILL_DIR": false, "SESSION_DIR": false, "PORT": false, "CERTAINTY": false,
	} {
		if got := secret(name); got != want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
