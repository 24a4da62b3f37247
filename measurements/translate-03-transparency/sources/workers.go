// Goroutines over channels, beside C threads' calls: built with cgo, so dynamically linked.
package main

/*
static long twice(long x) { return 2 * x; }
*/
import "C"

import (
	"fmt"
	"runtime"
	"sync"
)

func main() {
	work, done := make(chan int64), make(chan int64)
	var all sync.WaitGroup
	for worker := 0; worker < 8; worker++ {
		all.Add(1)
		go func() {
			defer all.Done()
			for x := range work {
				memo := make(map[int64]int64)
				for i := int64(0); i < 2000; i++ {
					memo[i%97] += (x * i) ^ i
				}
				sum := int64(C.twice(C.long(x)))
				for _, value := range memo {
					sum += value
				}
				done <- sum
			}
		}()
	}
	go func() {
		for x := int64(0); x < 2000; x++ {
			work <- x
		}
		close(work)
		all.Wait()
		close(done)
	}()
	var sum int64
	for value := range done {
		sum += value
	}
	runtime.GC()
	defer func() { fmt.Println(sum, recover()) }()
	var none *int64
	*none = 1
}
