package export

import (
	"fmt"
	"io"
	"reflect"
	"time"

	"github.com/parquet-go/parquet-go"
)

// rowGroup is how many rows are kept in memory.
const rowGroup = 10_000

// parquetEncoder writes Parquet. Every column is optional, and a missing value is null.
type parquetEncoder[T any] struct {
	writer  *parquet.GenericWriter[any]
	columns []Column[T]
	values  []parquet.Value // of one column of a page, whose memory is used again
	texts   []byte          // those of the values, one after the other
	pending int             // rows that are not in a row group
}

func newParquet[T any](w io.Writer, columns []Column[T]) *parquetEncoder[T] {
	var fields []reflect.StructField
	for i, c := range columns {
		kind, tag := reflect.TypeFor[string](), ""
		switch {
		case c.Count != nil:
			kind = reflect.TypeFor[int64]()
		case c.Time != nil:
			kind, tag = reflect.TypeFor[time.Time](), ",timestamp(microsecond)"
		}
		tag = fmt.Sprintf(`parquet:"%s,optional,snappy%s"`, c.Name, tag)
		fields = append(fields, reflect.StructField{Name: fmt.Sprintf("C%d", i), Type: kind, Tag: reflect.StructTag(tag)})
	}
	schema := parquet.SchemaOf(reflect.New(reflect.StructOf(fields)).Interface())
	writer := parquet.NewGenericWriter[any](w, schema, parquet.PageBufferSize(64<<10),
		parquet.ColumnPageBuffers(parquet.NewChunkBufferPool(16<<10))) // a row group of a column is small once it is compressed
	return &parquetEncoder[T]{writer: writer, columns: columns}
}

func (e *parquetEncoder[T]) begin() error { return nil }

// encode writes a page by columns, since the writer would take rows apart again.
func (e *parquetEncoder[T]) encode(records []T) error {
	for i, column := range e.writer.ColumnWriters() {
		if _, err := column.WriteRowValues(e.valuesOf(i, records)); err != nil {
			return err
		}
	}
	if e.pending += len(records); e.pending < rowGroup {
		return nil
	}
	e.pending = 0
	return e.writer.Flush()
}

// valuesOf returns the values of a column. The writer copies them.
func (e *parquetEncoder[T]) valuesOf(column int, records []T) []parquet.Value {
	e.values, e.texts = e.values[:0], e.texts[:0]
	for i := range records {
		value, defined := e.value(&e.columns[column], &records[i]), 1
		if value.IsNull() {
			defined = 0
		}
		e.values = append(e.values, value.Level(0, defined, column))
	}
	return e.values
}

func (e *parquetEncoder[T]) value(c *Column[T], record *T) parquet.Value {
	switch {
	case c.Count != nil:
		return parquet.Int64Value(int64(c.Count(record)))
	case c.Time != nil:
		if at := c.Time(record); !at.IsZero() {
			return parquet.Int64Value(at.UnixMicro())
		}
		return parquet.NullValue()
	}
	start := len(e.texts)
	if e.texts = c.Text(e.texts, record); len(e.texts) == start {
		return parquet.NullValue()
	}
	return parquet.ByteArrayValue(e.texts[start:])
}

func (e *parquetEncoder[T]) close() error { return e.writer.Close() }
