package export

import (
	"fmt"
	"io"
	"reflect"
	"slices"
	"time"

	"github.com/parquet-go/parquet-go"
)

// rowGroup is how many rows are kept in memory.
const rowGroup = 10_000

// parquetEncoder writes Parquet. Every column is optional, and a missing value is null.
type parquetEncoder[T any] struct {
	writer  *parquet.GenericWriter[any]
	columns []Column[T]
	rows    []parquet.Row // of the page, whose memory is used again
	texts   []byte        // those of the page, one after the other
	pending int           // rows that are not in a row group
}

func newParquet[T any](w io.Writer, columns []Column[T]) *parquetEncoder[T] {
	types := map[Kind]reflect.Type{Text: reflect.TypeFor[string](), Integer: reflect.TypeFor[int64](), Time: reflect.TypeFor[time.Time]()}
	tags := map[Kind]string{Time: ",timestamp(microsecond)"}
	var fields []reflect.StructField
	for i, c := range columns {
		tag := fmt.Sprintf(`parquet:"%s,optional,snappy%s"`, c.Name, tags[c.Kind])
		fields = append(fields, reflect.StructField{Name: fmt.Sprintf("C%d", i), Type: types[c.Kind], Tag: reflect.StructTag(tag)})
	}
	schema := parquet.SchemaOf(reflect.New(reflect.StructOf(fields)).Interface())
	return &parquetEncoder[T]{writer: parquet.NewGenericWriter[any](w, schema, parquet.PageBufferSize(64<<10)), columns: columns}
}

func (e *parquetEncoder[T]) encode(records []T) error {
	e.rows = slices.Grow(e.rows[:0], len(records))[:len(records)]
	e.texts = e.texts[:0]
	for i := range records {
		row := e.rows[i][:0]
		for at, c := range e.columns {
			row = append(row, e.value(c.Value(&records[i]), c.Kind, at))
		}
		e.rows[i] = row
	}
	if _, err := e.writer.WriteRows(e.rows); err != nil {
		return err
	}
	if e.pending += len(records); e.pending < rowGroup {
		return nil
	}
	e.pending = 0
	return e.writer.Flush()
}

// value returns a value of a column. The writer copies it.
func (e *parquetEncoder[T]) value(v Value, kind Kind, column int) parquet.Value {
	switch {
	case v.isNull(kind):
		return parquet.NullValue().Level(0, 0, column)
	case kind == Integer:
		return parquet.Int64Value(v.Integer).Level(0, 1, column)
	case kind == Time:
		return parquet.Int64Value(v.Time.UnixMicro()).Level(0, 1, column)
	}
	start := len(e.texts)
	e.texts = append(e.texts, v.Text...)
	return parquet.ByteArrayValue(e.texts[start:]).Level(0, 1, column)
}

func (e *parquetEncoder[T]) flush() error { return nil }
func (e *parquetEncoder[T]) close() error { return e.writer.Close() }
