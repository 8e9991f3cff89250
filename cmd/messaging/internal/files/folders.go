package files

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
)

// Config returns the folder of the configuration.
func Config() (string, error) { return find("XDG_CONFIG_HOME", ".config", "AppData") }

// State returns the folder of what the program has to remember.
func State() (string, error) {
	return find("XDG_STATE_HOME", filepath.Join(".local", "state"), "LocalAppData")
}

// find returns the folder that a variable names, or else the one in the home folder. As the
// XDG specification says, a path that is not absolute counts as not set.
func find(variable, fallback, windows string) (string, error) {
	home := "HOME"
	if runtime.GOOS == "windows" {
		variable, home = windows, ""
	}
	if folder := os.Getenv(variable); filepath.IsAbs(folder) {
		return filepath.Join(folder, "messaging"), nil
	}
	if folder := os.Getenv(home); filepath.IsAbs(folder) {
		return filepath.Join(folder, fallback, "messaging"), nil
	}
	return "", errors.New("neither " + variable + " nor HOME is the path of a folder")
}
