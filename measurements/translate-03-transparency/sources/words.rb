# Words by frequency, threads, an exception, big numbers.
counts = Hash.new(0)
File.foreach(ENV["SMALL"]) { |line| line.split.each { |word| counts[word] += 1 } }
p counts.sort_by { |word, times| [-times, word] }.first(40)
p (1..4).map { |id| Thread.new { (1..20_000).reduce { |a, b| (a * b) % 1_000_007 } + id } }.map(&:value)
begin
  raise "x"
rescue => error
  p error
end
GC.start
puts 2**3000
