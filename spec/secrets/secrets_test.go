package secrets_test

import (
	"strings"
	"testing"

	"github.com/skl-project/skl/spec/secrets"
)

// Names of files that hold secrets, as they lie in homes and repositories, and names beside them that hold none.
func TestNamed(t *testing.T) {
	for _, p := range strings.Fields(`
		.env .env.local sub/.env.production prod.env .ENV .env.bak .env~ .env.example.bak~/.env
		id_rsa .ssh/id_rsa .ssh/id_ed25519.old .ssh/config .ssh/authorized_keys /home/a/.ssh/anything deploy_rsa github_ed25519 id_ecdsa_sk id_rsa-work ssh_host_rsa_key
		tls.key ca.pem a.p12 a.pfx a.p8 a.jks a.keystore a.ppk a.kdbx vpn.ovpn
		.netrc _netrc .npmrc .pypirc .pgpass .my.cnf .mylogin.cnf .htpasswd .git-credentials .dockercfg .s3cfg .boto .vault-token .terraformrc
		.kube/config home/.kube/config kubeconfig prod.kubeconfig .docker/config.json .aws/credentials .aws/config .aws/sso/cache/x.json .azure/msal_token_cache.json
		.config/gcloud/credentials.db .config/gcloud/legacy_credentials/a/adc.json .config/gh/hosts.yml .config/github-copilot/apps.json .codex/auth.json .gemini/oauth_creds.json
		.claude/.credentials.json .claude.json .cargo/credentials.toml .cargo/credentials .gem/credentials .m2/settings.xml .gradle/gradle.properties .composer/auth.json
		.bash_history .zsh_history .psql_history .python_history .lesshst .gnupg/secring.gpg .password-store/mail.gpg .local/share/keyrings/login.keyring Library/Keychains/login.keychain-db
		terraform.tfstate terraform.tfstate.backup prod.tfvars prod.auto.tfvars.json secrets.yaml secrets.prod.yaml config/master.key service-account.json my-service-account.json
		client_secret_12.apps.json app-firebase-adminsdk-x.json credentials.json token.json wallet.dat key4.db /etc/shadow .Renviron .dev.vars local.settings.json .vscode/sftp.json
	`) {
		if !secrets.Named(p) {
			t.Errorf("%s holds no secret", p)
		}
	}
	for _, p := range strings.Fields(`
		.env.example .env.sample .env.dist .environment env environment.ts id_rsa.pub .ssh/id_ed25519.pub .ssh/known_hosts known_hosts authorized_keys keys.go
		config config.json src/config docker/config.json settings.xml hosts.yml gradle.properties auth.json src/auth.json shadow css/shadow history.md git_history
		secrets.go secret.md credentials.go tokenizer.json token.go package.json monkey turkey.txt key.txt README.md x/id_rsa_test/y .aws/task-definition.json .azure/config
		pem.go environments/prod.yaml service.json client_secret.go kubeconfig.go.md/x .github/workflows/ci.yml
	`) {
		if secrets.Named(p) {
			t.Errorf("%s holds secrets", p)
		}
	}
}

// No path is too odd, and an older copy is like the file.
func FuzzNamed(f *testing.F) {
	for _, p := range []string{"", "~", ".bak~", "id_rsa", "id_rsaé", ".env.old", "a/.ssh/b"} {
		f.Add(p)
	}
	f.Fuzz(func(t *testing.T, p string) {
		if named := secrets.Named(p); named != secrets.Named(p+".bak") && !strings.HasSuffix(p, "/") && p != "" {
			t.Errorf("%q: %v", p, named)
		}
	})
}

func BenchmarkNamed(b *testing.B) {
	paths := []string{"cmd/skl/internal/apply/job.go", "README.md", "node/.config/app/settings.json", "deploy/service-account.json"}
	for i := 0; b.Loop(); i++ {
		secrets.Named(paths[i%len(paths)])
	}
}
