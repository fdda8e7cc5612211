// peer.hpp is what the peers in C++ share: the questions of bench/report, read from stdin one a line and
// answered on stdout one a line. A question is a word with key=value pairs, an answer begins with ok or
// error:
//
//	trace file=STEPS replays=5 ms=300   a fresh pool replays the steps: cold, once more, then what is timed
//	limit file=STEPS free=BYTES         the same once, with only so much of the device free, until one fails
//	pair shape=one sizes=BYTES ms=20    a pair of allocation and free on a fresh pool, warm
//	first size=BYTES                    a fresh pool and its first allocation
//	copy dir=in|out size=BYTES fresh=0  a copy from or to ordinary memory of the host
//
// A peer defines a class P whose objects are pools, each on streams of its own: P(streams), alloc(n,
// stream), release(p, n, stream), reserved(), the most it has had from the device; and the static functions
// device_free(), bytes, take(n) and give(p), memory of the device without a pool, and sync().
#pragma once
#include <algorithm>
#include <chrono>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

// All of it is of the one file that includes it: another library of the process may have names like these.
namespace {
namespace peer {

using question = std::map<std::string, std::string>;

inline double now() {
	auto since = std::chrono::steady_clock::now().time_since_epoch();
	return std::chrono::duration<double, std::nano>(since).count();
}

inline int64_t number(const question &q, const std::string &key, int64_t otherwise = -1) {
	auto it = q.find(key);
	if (it == q.end()) {
		if (otherwise < 0)
			throw std::runtime_error("question without " + key);
		return otherwise;
	}
	return std::stoll(it->second);
}

// text is printf to a string. Peers use no streams of C++: not every process that they live in has theirs
// in order.
inline std::string text(const char *format, ...) {
	char line[512];
	va_list rest;
	va_start(rest, format);
	vsnprintf(line, sizeof line, format, rest);
	va_end(rest);
	return line;
}

// words cuts a text.
inline std::vector<std::string> words(const std::string &all, char between) {
	std::vector<std::string> cut;
	for (size_t at = 0; at < all.size();) {
		size_t end = std::min(all.find(between, at), all.size());
		if (end > at)
			cut.push_back(all.substr(at, end - at));
		at = end + 1;
	}
	return cut;
}

inline std::vector<size_t> numbers(const std::string &list) {
	std::vector<size_t> all;
	for (const std::string &one : words(list, ','))
		all.push_back(std::stoull(one));
	return all;
}

// A step makes what has a place in a table, or, with size -1, frees it.
struct step {
	int place, stream;
	int64_t size;
};

struct steps {
	int places = 0, streams = 0;
	std::vector<step> all;
};

// read returns the steps of a file; each file is read once.
inline const steps &read(const std::string &name) {
	static std::map<std::string, steps> known;
	steps &s = known[name];
	if (!s.all.empty())
		return s;
	FILE *f = fopen(name.c_str(), "r");
	int n = 0;
	if (!f || fscanf(f, "steps %d %d %d", &n, &s.places, &s.streams) != 3 || n <= 0)
		throw std::runtime_error(name + ": no steps");
	s.all.resize(n);
	for (step &x : s.all) {
		long long size;
		if (fscanf(f, "%d %d %lld", &x.place, &x.stream, &size) != 3)
			throw std::runtime_error(name + ": it is cut off");
		x.size = size;
	}
	fclose(f);
	return s;
}

// replay does all steps once and returns the nanoseconds.
template <class P> double replay(P &pool, const steps &s) {
	struct held {
		void *p;
		size_t size;
	};
	std::vector<held> table(s.places);
	double begin = now();
	for (const step &x : s.all) {
		held &h = table[x.place];
		if (x.size < 0) {
			pool.release(h.p, h.size, x.stream);
		} else {
			h.size = x.size;
			h.p = pool.alloc(x.size, x.stream);
		}
	}
	return now() - begin;
}

// say tells on stderr where a peer is, if LASTUSE_PEER_DEBUG is set: for one that ends without a word.
inline void say(const char *what) {
	static const bool wanted = getenv("LASTUSE_PEER_DEBUG");
	if (wanted)
		fprintf(stderr, "peer: %s\n", what);
}

// held says what a pool has got of the device, by its own word and by what was free before.
template <class P> std::string held(P &pool, size_t before) {
	size_t after = P::device_free();
	return text(" reserved=%zu taken=%zu", size_t(pool.reserved()), before > after ? before - after : 0);
}

template <class P> std::string trace(const question &q) {
	const steps &s = read(q.at("file"));
	size_t before = P::device_free();
	P pool(s.streams);
	std::string out = text("cold=%.1f", replay(pool, s) / s.all.size());
	replay(pool, s);
	int64_t most = number(q, "replays");
	double end = now() + number(q, "ms") * 1e6;
	for (int64_t i = 0; i < most && (i == 0 || now() < end); i++)
		out += text("%s%.1f", i ? "," : " ns=", replay(pool, s) / s.all.size());
	P::sync();
	return out + held(pool, before);
}

template <class P> std::string limit(const question &q) {
	const size_t unit = 2 << 20;
	const steps &s = read(q.at("file"));
	size_t has = P::device_free(), want = number(q, "free");
	if (has < want + unit)
		throw std::runtime_error("the device has less memory free than the limit");
	void *rest = P::take((has - want) / unit * unit);
	size_t done = 0;
	try {
		P pool(s.streams);
		std::vector<std::pair<void *, step>> live(s.places);
		try {
			for (; done < s.all.size(); done++) {
				const step &x = s.all[done];
				auto &at = live[x.place];
				if (x.size < 0) {
					pool.release(at.first, at.second.size, x.stream);
					at.first = nullptr;
				} else {
					at = {pool.alloc(x.size, x.stream), x};
				}
			}
		} catch (const std::exception &) { // there is no memory left
		}
		for (auto &at : live)
			if (at.first)
				pool.release(at.first, at.second.size, at.second.stream);
	} catch (...) {
		P::give(rest);
		throw;
	}
	P::give(rest);
	return text("done=%.4f", double(done) / s.all.size());
}

// deep calls itself so many times and f at the bottom.
__attribute__((noinline)) inline void deep(int n, const std::function<void()> &f) {
	if (n > 0)
		deep(n - 1, f);
	else
		f();
	asm volatile(""); // no tail call
}

// round is a round of pairs of a shape: one (each size is made and freed before the next), or live8 (the
// oldest of eight live ones is freed for a new one). It returns how many pairs that were.
template <class P> int round(P &pool, const std::string &shape, const std::vector<size_t> &sizes) {
	const int n = 100; // some take milliseconds
	size_t many = sizes.size();
	if (shape != "live8") {
		for (int i = 0; i < n; i++) {
			size_t size = sizes[i % many];
			pool.release(pool.alloc(size, 0), size, 0);
		}
		return n;
	}
	void *live[8];
	size_t size[8];
	for (int i = 0; i < n + 8; i++) {
		if (i >= 8)
			pool.release(live[i % 8], size[i % 8], 0);
		if (i < n) {
			size[i % 8] = sizes[i % many];
			live[i % 8] = pool.alloc(size[i % 8], 0);
		}
	}
	return n;
}

template <class P> std::string pair(const question &q) {
	auto sizes = numbers(q.at("sizes"));
	const std::string &shape = q.at("shape");
	say("a pool for pairs");
	P pool(1);
	say("the first allocation");
	void *p = pool.alloc(sizes[0], 0);
	say("the first free");
	pool.release(p, sizes[0], 0);
	say("pairs");
	int64_t n = 0;
	double took = 0;
	deep(shape == "deep" ? 60 : 0, [&] {
		round(pool, shape, sizes);
		double begin = now(), end = begin + number(q, "ms") * 1e6;
		while (now() < end)
			n += round(pool, shape, sizes);
		took = now() - begin;
	});
	P::sync();
	return text("ns=%.2f n=%lld", took / n, (long long)n);
}

template <class P> std::string first(const question &q) {
	size_t size = number(q, "size"), before = P::device_free();
	double t0 = now();
	P pool(1);
	double t1 = now();
	void *p = pool.alloc(size, 0);
	double t2 = now();
	std::string out = text("ns=%.0f new=%.0f", t2 - t1, t1 - t0) + held(pool, before);
	pool.release(p, size, 0);
	P::sync();
	return out;
}

// pattern writes what no allocator has written.
inline void pattern(void *to, size_t n) {
	uint64_t *words = static_cast<uint64_t *>(to);
	for (size_t i = 0; i < n / sizeof *words; i++)
		words[i] = i * 0x9e3779b97f4a7c15u;
}

// timed calls f for ms milliseconds, at least three times, and returns the nanoseconds of each call.
inline std::string timed(const question &q, const std::function<void()> &f) {
	f();
	std::string out;
	double end = now() + number(q, "ms") * 1e6;
	for (int i = 0; i < 3 || (i < 50 && now() < end); i++) {
		double begin = now();
		f();
		out += text("%s%.0f", i ? "," : "ns=", now() - begin);
	}
	return out;
}

// next returns the next question.
inline bool next(std::string &line) {
	char text[4096];
	if (!fgets(text, sizeof text, stdin))
		return false;
	line.assign(text, strcspn(text, "\n"));
	return true;
}

// A known answers what one peer alone knows.
using known = std::string (*)(const std::string &word, const question &);

// answer answers a question.
template <class P> std::string answer(const std::string &line, known more) {
	say(line.c_str());
	std::vector<std::string> all = words(line, ' ');
	if (all.empty())
		return "error no question";
	question q;
	for (const std::string &one : all) {
		size_t is = one.find('=');
		if (is != std::string::npos)
			q[one.substr(0, is)] = one.substr(is + 1);
	}
	const std::string &word = all[0];
	try {
		return "ok " + (word == "trace"	  ? trace<P>(q)
				: word == "limit" ? limit<P>(q)
				: word == "pair"  ? pair<P>(q)
				: word == "first" ? first<P>(q)
						  : more(word, q));
	} catch (const std::exception &e) {
		std::string why = e.what();
		return "error " + why.substr(0, why.find('\n'));
	}
}

// serve answers until there are no more questions.
template <class P> int serve(const std::string &about, known more) {
	printf("ok %s\n", about.c_str());
	fflush(stdout);
	for (std::string line; next(line);) {
		printf("%s\n", answer<P>(line, more).c_str());
		fflush(stdout);
	}
	return 0;
}

// nothing is what a peer knows that knows no more.
inline std::string nothing(const std::string &word, const question &) {
	throw std::runtime_error("it does not answer " + word);
}

} // namespace peer
} // namespace
