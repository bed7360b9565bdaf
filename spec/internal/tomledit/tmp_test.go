package tomledit
import ("testing";"strings";"fmt";"github.com/pelletier/go-toml/v2")
func lockText() []byte { var b strings.Builder; b.WriteString("version = 1\n")
for i := range 1000 { fmt.Fprintf(&b, "\n[[skill]]\nname = \"skill-%04d\"\nref = \"acme/skills/skill-%04d\"\nsource = \"git\"\nurl = \"https://github.com/acme/skills.git\"\npath = \"skills/skill-%04d\"\nref_kind = \"range\"\nversion = \"1.4.2\"\ncommit = \"%040d\"\ntree = \"tree-sha256:%064d\"\nfiles = 12\nbytes = 59000\npermissions = [\"exec:python3\", \"write:project\"]\n\n[skill.signer]\nissuer = \"https://token.actions.githubusercontent.com\"\nidentity = \"https://github.com/acme/skills/.github/workflows/release.yml@refs/tags/v1.4.2\"\n", i,i,i,i,i)}
return []byte(b.String())}
func BenchmarkParse(b *testing.B){ src:=lockText(); b.SetBytes(int64(len(src))); b.ReportAllocs(); for b.Loop(){ if _,err:=Parse(src);err!=nil{b.Fatal(err)}}}
func BenchmarkToml(b *testing.B){ src:=lockText(); b.SetBytes(int64(len(src))); b.ReportAllocs(); for b.Loop(){ var x map[string]any; if err:=toml.Unmarshal(src,&x);err!=nil{b.Fatal(err)}}}
func FuzzParse(f *testing.F){
 f.Add("a = 1\n[b]\nc.d = 2 # x\n[[e]]\nf=[1,2]\n")
 f.Add("a.b = 1\n[a.c]\nx = {y = 1, z.w = \"q\"}\nt = 1979-05-27T07:32:00Z\n")
 f.Fuzz(func(t *testing.T,s string){
  var x map[string]any
  want := toml.Unmarshal([]byte(s),&x)
  _, err := Parse([]byte(s))
  if (want==nil)!=(err==nil) { if err!=nil && strings.Contains(err.Error(),"deep"){return}; t.Fatalf("%q: go-toml %v, here %v", s, want, err)}
 })
}
