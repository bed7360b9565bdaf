package deploy_test

import (
	"crypto/sha256"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"text/template"

	"go.yaml.in/yaml/v4"

	"github.com/skl-project/skl/registry/deploy"
)

// A project is what a test looks at in compose.yaml.
type project struct {
	Services map[string]struct {
		Image       string
		Command     string
		Entrypoint  []string
		NetworkMode string `yaml:"network_mode"`
		EnvFile     string `yaml:"env_file"`
		Ports       []string
		Volumes     []string
		ReadOnly    bool `yaml:"read_only"`
		DependsOn   any  `yaml:"depends_on"`
	}
	Volumes map[string]any
}

// Of all containers only the proxy is reached from elsewhere, each replica has a port and a directory, and nothing is used that is not there.
func TestCompose(t *testing.T) {
	for _, d := range []deploy.Together{
		{Host: "skills.example", Replicas: []string{"one", "two"}},
		{Host: "skills.example", Replicas: []string{"one", "two", "three"}, OwnDatabase: true, OwnBucket: true},
	} {
		files, err := d.Compose()
		if err != nil || len(files) != 2 || files[0].Path != "compose.yaml" || files[1].Path != "Caddyfile" {
			t.Fatalf("%+v, %v", files, err)
		}
		var p project
		if err := yaml.Unmarshal([]byte(files[0].Text), &p); err != nil {
			t.Fatalf("%v in\n%s", err, files[0].Text)
		}
		want := append(slices.Clone(d.Replicas), "network", "proxy")
		if d.OwnDatabase {
			want = append(want, "database", "bucket")
		}
		if got := slices.Sorted(maps.Keys(p.Services)); !slices.Equal(got, slices.Sorted(slices.Values(want))) {
			t.Errorf("services %q", got)
		}
		for name, s := range p.Services {
			if (s.NetworkMode == "service:network") == (name == "network") || (len(s.Ports) > 0) != (name == "network") {
				t.Errorf("%s has network %q and ports %q", name, s.NetworkMode, s.Ports)
			}
			for _, v := range s.Volumes {
				from, _, _ := strings.Cut(v, ":")
				if _, ok := p.Volumes[from]; !ok && !slices.Contains([]string{"./registry.toml", "./Caddyfile"}, from) {
					t.Errorf("%s has volume %s, which is not there", name, v)
				}
			}
			after := map[string]any{}
			switch on := s.DependsOn.(type) {
			case []any:
				for _, other := range on {
					after[fmt.Sprint(other)] = nil
				}
			case map[string]any:
				after = on
			}
			for other := range after {
				if _, ok := p.Services[other]; !ok {
					t.Errorf("%s waits for %s, which is not there", name, other)
				}
			}
		}
		for n, name := range d.Replicas {
			s, at := p.Services[name], fmt.Sprint("127.0.0.1:", 5081+n)
			if !strings.HasSuffix(s.Command, " --addr "+at) || !s.ReadOnly || s.EnvFile != "registry.env" || !slices.Contains(s.Volumes, name+":/data") {
				t.Errorf("%s: %+v", name, s)
			}
			if !strings.Contains(files[1].Text, at) {
				t.Errorf("the proxy does not know %s:\n%s", at, files[1].Text)
			}
		}
	}
}

// An object is what a test looks at in an object of Kubernetes.
type object struct {
	APIVersion string `yaml:"apiVersion"`
	Kind       string
	Metadata   struct {
		Name        string
		Annotations map[string]string
	}
	Data map[string]string
	Spec struct {
		Replicas     int
		MinAvailable int `yaml:"minAvailable"`
		Template     struct {
			Spec struct {
				Grace      int `yaml:"terminationGracePeriodSeconds"`
				Containers []struct {
					Args    []string
					EnvFrom []any `yaml:"envFrom"`
				}
				Volumes []map[string]any
			}
		}
		Rules []struct{ Host string }
	}
}

// A chart makes the objects of the host and of the number of replicas that are asked for, with registry.toml as it is.
func TestChart(t *testing.T) {
	const config = "# A comment.\nurl = \"https://skills.corp.example\"\n\n[db]\n"
	files, err := deploy.Chart("skills.corp.example", 4)
	if err != nil {
		t.Fatal(err)
	}
	have := map[string]string{"registry.toml": config}
	for _, f := range files {
		have[strings.TrimPrefix(f.Path, "skl-registry/")] = f.Text
	}
	objects := render(t, have)
	d := objects["Deployment skills"]
	if spec := d.Spec.Template.Spec; d.Spec.Replicas != 4 || spec.Grace != 50 || len(spec.Containers) != 1 || len(spec.Volumes) != 3 || len(spec.Containers[0].EnvFrom) != 1 || spec.Containers[0].Args[1] != "serve" {
		t.Errorf("%+v", d)
	}
	if c := objects["ConfigMap skills"]; c.Data["registry.toml"] != config {
		t.Errorf("%+v", c)
	}
	job := objects["Job skills-migrate"]
	if spec := job.Spec.Template.Spec; job.Metadata.Annotations["helm.sh/hook"] != "pre-upgrade" || len(spec.Containers) != 1 || len(spec.Volumes) != 3 || fmt.Sprint(spec.Containers[0].Args) != "[registry migrate --schema --config /etc/skl/registry.toml]" {
		t.Errorf("%+v", job)
	}
	if b := objects["PodDisruptionBudget skills"]; b.Spec.MinAvailable != 1 {
		t.Errorf("%+v", b)
	}
	if i := objects["Ingress skills"]; len(i.Spec.Rules) != 1 || i.Spec.Rules[0].Host != "skills.corp.example" {
		t.Errorf("%+v", i)
	}
	if objects["Service skills"].Kind == "" || len(objects) != 7 {
		t.Errorf("%d objects: %q", len(objects), slices.Sorted(maps.Keys(objects)))
	}
	have["values.yaml"] = strings.Replace(have["values.yaml"], "enabled: false", "enabled: true", 1)
	objects = render(t, have)
	if objects["HorizontalPodAutoscaler skills"].Kind == "" || objects["Deployment skills"].Spec.Replicas != 0 {
		t.Errorf("with an autoscaler: %q", slices.Sorted(maps.Keys(objects)))
	}
}

// chartFiles are .Files of a chart.
type chartFiles map[string]string

func (f chartFiles) Get(name string) string { return f[name] }

// render is what Helm makes of a chart as release "skills", with the functions that its templates use.
func render(t *testing.T, chart map[string]string) map[string]object {
	t.Helper()
	var values map[string]any
	if err := yaml.Unmarshal([]byte(chart["values.yaml"]), &values); err != nil {
		t.Fatal(err)
	}
	data := map[string]any{"Values": values, "Release": map[string]any{"Name": "skills"}, "Files": chartFiles(chart)}
	indent := func(n int, text string) string {
		return strings.Repeat(" ", n) + strings.ReplaceAll(text, "\n", "\n"+strings.Repeat(" ", n))
	}
	all := template.New("chart")
	all.Funcs(template.FuncMap{
		"indent": indent, "nindent": func(n int, text string) string { return "\n" + indent(n, text) },
		"sha256sum": func(text string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(text))) },
		"toYaml": func(v any) (string, error) {
			text, err := yaml.Marshal(v)
			return strings.TrimSuffix(string(text), "\n"), err
		},
		"include": func(name string, data any) (string, error) {
			var text strings.Builder
			err := all.ExecuteTemplate(&text, name, data)
			return text.String(), err
		},
	})
	for name, text := range chart {
		if strings.HasPrefix(name, "templates/") {
			template.Must(all.New(name).Parse(text))
		}
	}
	objects := map[string]object{}
	for _, name := range slices.Sorted(maps.Keys(chart)) {
		if !strings.HasPrefix(name, "templates/") || !strings.HasSuffix(name, ".yaml") {
			continue
		}
		var text strings.Builder
		if err := all.ExecuteTemplate(&text, name, data); err != nil {
			t.Fatal(err)
		}
		for part := range strings.SplitSeq(text.String(), "\n---\n") {
			var o object
			if err := yaml.Unmarshal([]byte(part), &o); err != nil {
				t.Fatalf("%s: %v in\n%s", name, err, part)
			}
			if o.Kind != "" {
				objects[o.Kind+" "+o.Metadata.Name] = o
			}
		}
	}
	return objects
}
