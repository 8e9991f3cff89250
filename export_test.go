package messaging

import (
	"reflect"
	"slices"
	"strings"

	"github.com/messaging-go/messaging/internal/service"
)

// BodyPaths returns the paths of all members that the body of a send can have, such as
// recipients.customers.email. What is within a map has no fixed name.
func BodyPaths(op *service.Operation) []string {
	return slices.Sorted(slices.Values(memberPaths("", reflect.TypeOf(sends[op].body))))
}

func memberPaths(path string, t reflect.Type) (paths []string) {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct {
		return nil
	}
	for name, member := range membersOf(t) {
		paths = append(paths, path+name)
		paths = append(paths, memberPaths(path+name+".", member)...)
	}
	return paths
}

// membersOf returns the members that encoding/json writes of a struct, those of embedded
// structs included.
func membersOf(t reflect.Type) map[string]reflect.Type {
	members := make(map[string]reflect.Type)
	for _, field := range reflect.VisibleFields(t) {
		if name, _, _ := strings.Cut(field.Tag.Get("json"), ","); name != "" && name != "-" {
			members[name] = field.Type
		}
	}
	return members
}
