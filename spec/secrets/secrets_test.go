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
		.git/config a/.git/config .netrc _netrc .npmrc .pypirc .pgpass .my.cnf .mylogin.cnf .htpasswd .git-credentials .dockercfg .s3cfg .boto .vault-token .terraformrc
		.kube/config home/.kube/config kubeconfig prod.kubeconfig .docker/config.json .aws/credentials .aws/config .aws/sso/cache/x.json .azure/msal_token_cache.json
		.config/gcloud/credentials.db .config/gcloud/legacy_credentials/a/adc.json .config/gh/hosts.yml .config/github-copilot/apps.json .codex/auth.json .gemini/oauth_creds.json
		.claude/.credentials.json .claude.json .cargo/credentials.toml .cargo/credentials .gem/credentials .m2/settings.xml .gradle/gradle.properties .composer/auth.json
		.bash_history .zsh_history .psql_history .python_history .lesshst .gnupg/secring.gpg .password-store/mail.gpg .local/share/keyrings/login.keyring Library/Keychains/login.keychain-db
		terraform.tfstate terraform.tfstate.backup prod.tfvars prod.auto.tfvars.json secrets.yaml secrets.prod.yaml config/master.key service-account.json my-service-account.json
		client_secret_12.apps.json app-firebase-adminsdk-x.json credentials.json token.json wallet.dat key4.db /etc/shadow .Renviron .dev.vars local.settings.json .vscode/sftp.json
		secret.json secrets.json config/secret.toml k8s/secret.yaml creds.json passwords.txt Passwords.csv password.txt gcp-key.json gcp_key.json google-cloud-key.json firebase-credentials.json
		token.txt github_token.txt api_key.txt auth.json app-1/auth.json env.production env.prod ENV.txt env.local rclone.conf .rclone.conf nuget.config NuGet.Config .azure/azureProfile.json
		vault.yml group_vars/all/vault.yml ansible-vault.yml .vault_pass .envrc .yarnrc.yml
	`) {
		if !secrets.Named(p) {
			t.Errorf("%s holds no secret", p)
		}
	}
	for _, p := range []string{".env copy", ".env copy 2", "id_rsa (1)", "credentials copy.json", "credentials - Copy (2).json", "Copy of secret.json", "a b/token (copy).txt", ".env copy.bak"} {
		if !secrets.Named(p) {
			t.Errorf("%s, a copy, holds no secret", p)
		}
	}
	for _, p := range []string{"notes copy.md", "token copy.go", "copy of report (1).txt", "photocopy", "a copy", "(1).txt", " copy"} {
		if secrets.Named(p) {
			t.Errorf("%s, a copy, holds secrets", p)
		}
	}
	for _, p := range strings.Fields(`
		.env.example .env.sample .env.dist .environment env environment.ts id_rsa.pub .ssh/id_ed25519.pub .ssh/known_hosts known_hosts authorized_keys keys.go
		config config.json src/config docker/config.json settings.xml hosts.yml gradle.properties src/auth.json shadow css/shadow history.md git_history
		secrets.go secret.md credentials.go tokenizer.json token.go package.json monkey turkey.txt key.txt README.md x/id_rsa_test/y .aws/task-definition.json .azure/config
		auth.go auth.ts auth.md auth.yaml locales/en/auth.json i18n/auth.json schemas/auth.json schemas/mesh/v1/Secret.yaml tokens.md tokens.json tokens.txt tokens.go secret.go secrets.ts secret.proto vocab/token.py
		passwords.md passwords.php lang/en/passwords.json password.go password.json vault.go vault.md templates/secret.yaml chart/templates/vault.yaml env.go env.ts env.d.ts env.js env.py env.md env.yml env.example
		gcp.go gcp-key.md sort-key.json primary_key.json google-fonts.json aws-regions.json creds.rs nuget.md rclone.md yarnrc.yml envrc.go
		pem.go environments/prod.yaml service.json client_secret.go kubeconfig.go.md/x .github/workflows/ci.yml
	`) {
		if secrets.Named(p) {
			t.Errorf("%s holds secrets", p)
		}
	}
}

// No path is too odd, and an older copy is like the file.
func FuzzNamed(f *testing.F) {
	for _, p := range []string{"", "~", ".bak~", "id_rsa", "id_rsaé", ".env copy", "copy of x.bak", ".env.old", "a/.ssh/b"} {
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
