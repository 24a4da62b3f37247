import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.LongAdder;

/** Threads that share a map and a sum; the output depends on neither timing nor number of processors. */
class Threads {
    public static void main(String[] words) throws InterruptedException {
        var counts = new ConcurrentHashMap<Integer, Long>();
        var sum = new LongAdder();
        List<Thread> threads = new ArrayList<>();
        for (int id = 0; id < 4; id++) {
            long seed = id + 1;
            threads.add(new Thread(() -> {
                long x = seed;
                for (int round = 0; round < 200_000; round++) {
                    x = x * 6364136223846793005L + 1442695040888963407L;
                    counts.merge((int) (x >>> 54), 1L, Long::sum);
                    sum.add(x >>> 33);
                }
            }));
        }
        for (var thread : threads) thread.start();
        for (var thread : threads) thread.join();
        try {
            counts.get(null);
        } catch (NullPointerException expected) {
            System.out.println("null caught");
        }
        System.out.println(counts.size() + " " + counts.hashCode() + " " + sum.sum());
    }
}
