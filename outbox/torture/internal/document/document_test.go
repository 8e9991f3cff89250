package document

import (
	"os"
	"path/filepath"
	"testing"
)

func TestReplaceReplacesOnePart(t *testing.T) {
	file := filepath.Join(t.TempDir(), "SCALING.md")
	a, b := Begin("a")+"\nold\nold\n"+End+"\n", Begin("b")+"\nother\n"+End+"\n"
	if err := os.WriteFile(file, []byte("text\n"+a+b+"more\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := Replace(file, "a", "new\n"); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if want := "text\n" + Begin("a") + "\nnew\n" + End + "\n" + b + "more\n"; string(got) != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if err := Replace(file, "c", ""); err == nil {
		t.Error("a part that the file does not have must be an error")
	}
}

func TestBusyIsAPartOfTheTime(t *testing.T) {
	if share := busy(); share < 0 || share > 1 {
		t.Errorf("got %v", share)
	}
	if used, all := processorTime(); used > all {
		t.Errorf("%d of %d ticks", used, all)
	}
}
