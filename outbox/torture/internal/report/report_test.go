package report

import (
	"os"
	"path/filepath"
	"testing"
)

func TestWriteReplacesOneTable(t *testing.T) {
	file := filepath.Join(t.TempDir(), "README.md")
	other := begin("b") + "\nother\n" + end + "\n"
	if err := os.WriteFile(file, []byte("text\n"+begin("a")+"\nold\nold\n"+end+"\n"+other+"more\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	table := Table{Name: "a", File: file, Head: []string{"what", "result"}}
	if err := table.Write([]Row{Judged(true, "good"), Judged(false, "bad")}, "a machine"); err != nil {
		t.Fatal(err)
	}
	want := "text\n" + begin("a") + "\n| what | result |\n|---|---|\n| good | ok |\n| bad | MISSED |\n\n`go run . -run '^a'` · a machine\n" +
		end + "\n" + other + "more\n"
	if got, err := os.ReadFile(file); err != nil || string(got) != want {
		t.Errorf("got error %v and\n%s\nwant\n%s", err, got, want)
	}
	table.Name = "c"
	if err := table.Write(nil, ""); err == nil {
		t.Error("a table that the file does not have must be an error")
	}
}
