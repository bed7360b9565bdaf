package oci_test

import (
	"encoding/xml"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/skl-project/skl/registry/oci/peertest"
	"github.com/skl-project/skl/testdata/long"
)

// TestConformance runs the official suite of the distribution specification against an open registry.
// Tests that the suite skips or leaves out are counted: a test that stops being run is a failure too.
func TestConformance(t *testing.T) {
	long.Only(t)
	suite := peertest.Program(t, peertest.Conformance)
	for _, test := range []struct {
		name string
		env  []string
		pass int // at least
	}{
		{"stable", []string{"OCI_VERSION=stable"}, 850},
		{"dev", []string{"OCI_VERSION=dev", "OCI_DATA_SPARSE=false"}, 980},
	} {
		t.Run(test.name, func(t *testing.T) {
			server := httptest.NewServer(handler(t, openRegistry(t)))
			defer server.Close()
			results := t.TempDir()
			command := exec.Command(suite)
			command.Dir = results
			command.Env = append(os.Environ(), "OCI_REGISTRY="+strings.TrimPrefix(server.URL, "http://"), "OCI_TLS=disabled",
				"OCI_REPO1=conformance/one", "OCI_REPO2=conformance/two", "OCI_RESULTS_DIR="+results, "OCI_LOG=error", "NO_PROXY=127.0.0.1")
			command.Env = append(command.Env, test.env...)
			out, runErr := command.CombinedOutput()
			report, err := os.ReadFile(filepath.Join(results, "junit.xml"))
			if err != nil {
				t.Fatalf("the suite left no report: %v, %v\n%s", runErr, err, out)
			}
			var sums struct {
				Tests    int `xml:"tests,attr"`
				Errors   int `xml:"errors,attr"`
				Failures int `xml:"failures,attr"`
				Skipped  int `xml:"skipped,attr"`
				Disabled int `xml:"disabled,attr"`
			}
			if err := xml.Unmarshal(report, &sums); err != nil {
				t.Fatal(err)
			}
			passed := sums.Tests - sums.Errors - sums.Failures - sums.Skipped - sums.Disabled
			t.Logf("conformance %s: %d passed, %d failed, %d errors, %d skipped, %d disabled of %d",
				test.name, passed, sums.Failures, sums.Errors, sums.Skipped, sums.Disabled, sums.Tests)
			if runErr != nil || sums.Failures+sums.Errors+sums.Skipped > 0 || passed < test.pass {
				_, problems, _ := strings.Cut(string(out), "\nErrors:\n")
				if len(problems) > 6000 {
					problems = problems[:6000] + "\n…"
				}
				t.Errorf("want at least %d passed and none failed or skipped: %v\n%s", test.pass, runErr, problems)
			}
		})
	}
}
