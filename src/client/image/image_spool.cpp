#include "client/image/image_spool.hpp"

#include "client/async/async_event.hpp"
#include "client/image/tar_reader.hpp"
#include "client/image/temporary_files.hpp"
#include "shared/core/text.hpp"
#include "shared/core/units.hpp"
#include "shared/digest/sha256.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <fmt/format.h>

#include <array>
#include <cerrno>
#include <fcntl.h>
#include <fstream>
#include <iterator>
#include <optional>
#include <thread>
#include <unistd.h>

namespace dockdist {
namespace {

using Files = std::map<std::string, SavedBlob>;

// What manifest.json or a configuration may have. Registries take no larger ones.
constexpr std::uint64_t largest_description = 4 << 20;

// Takes a tar apart on a thread of its own, given its bytes through a pipe.
class TarThread {
public:
    static Result<std::unique_ptr<TarThread>> start(const boost::asio::any_io_executor& executor,
                                                    std::filesystem::path folder, GrowingFiles& growing) {
        std::array<int, 2> ends{};
        if (::pipe2(ends.data(), O_CLOEXEC) != 0) {
            return temporary_error(folder.string(), errno);
        }
        return std::unique_ptr<TarThread>(new TarThread(executor, std::move(folder), growing, ends));
    }
    ~TarThread() {
        boost::system::error_code ignored;
        ignored = pipe_.close(ignored); // an early end for the thread, too
        thread_.join();
    }
    TarThread(const TarThread&) = delete;
    TarThread& operator=(const TarThread&) = delete;

    // False: the thread reads no more; its result says why.
    Task<bool> give(const std::string& bytes) {
        const auto [error, count] = co_await boost::asio::async_write(
            pipe_, boost::asio::buffer(bytes), boost::asio::as_tuple(boost::asio::use_awaitable));
        co_return !error;
    }
    Task<Result<Files>> finish() {
        boost::system::error_code ignored;
        ignored = pipe_.close(ignored);
        co_await done_->wait();
        co_return std::move(**result_);
    }

private:
    TarThread(const boost::asio::any_io_executor& executor, std::filesystem::path folder,
              GrowingFiles& growing, std::array<int, 2> ends)
        : pipe_(executor, ends[1]), done_(std::make_shared<AsyncEvent>(executor)),
          thread_([executor, folder = std::move(folder), &growing, from = ends[0], done = done_,
                   result = result_] {
              auto files = take_tar_apart(from, folder, growing);
              ::close(from);
              boost::asio::post(executor, [done, result, files = std::move(files)]() mutable {
                  *result = std::move(files);
                  done->set();
              });
          }) {}

    boost::asio::posix::stream_descriptor pipe_;
    std::shared_ptr<AsyncEvent> done_;
    std::shared_ptr<std::optional<Result<Files>>> result_ = std::make_shared<std::optional<Result<Files>>>();
    std::thread thread_;
};

} // namespace

Task<Result<std::unique_ptr<ImageSpool>>> ImageSpool::fill(ContainerEngine& from, ImageRef ref,
                                                           std::function<void(std::uint64_t)> on_progress,
                                                           GrowingFiles& growing) {
    auto folder = make_temporary_folder();
    CO_TRY(folder);
    std::unique_ptr<ImageSpool> spool(new ImageSpool());
    spool->folder_ = std::move(*folder);
    auto thread = TarThread::start(co_await boost::asio::this_coro::executor, spool->folder_, growing);
    CO_TRY(thread);
    auto source = co_await from.export_image(ref);
    CO_TRY(source);
    std::uint64_t total = 0;
    while (true) {
        const auto bytes = co_await (*source)->read();
        CO_TRY(bytes);
        if (bytes->empty() || !co_await (*thread)->give(*bytes)) {
            break;
        }
        total += bytes->size();
        on_progress(total);
    }
    auto files = co_await (*thread)->finish();
    CO_TRY(files);
    CO_TRY(spool->finish(ref, std::move(*files)));
    co_return std::move(spool);
}

ImageSpool::~ImageSpool() {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
}

std::string ImageSpool::manifest_digest() const {
    return sha256_of(manifest_);
}

Status ImageSpool::finish(const ImageRef& ref, Files files) {
    const auto read = [&](const std::string& name) -> Result<std::string> {
        const auto found = files.find(name);
        if (found != files.end() && found->second.size > largest_description) {
            return Error{
                ErrorKind::protocol, "",
                fmt::format("what the engine gave as {} is not an image: its {} has {}, more than {}",
                            ref.str(), printable(name), format_size(Bytes{found->second.size}),
                            format_size(Bytes{largest_description})),
                ""};
        }
        std::ifstream file(found == files.end() ? std::string() : found->second.path, std::ios::binary);
        return std::string(std::istreambuf_iterator<char>(file), {});
    };
    const auto manifest_text = read("manifest.json");
    TRY(manifest_text);
    const auto manifest = parse_save_manifest(*manifest_text);
    TRY(manifest);
    Status named = ok;
    const auto take = [&](const std::string& name, SavedBlob& blob) {
        const auto found = files.find(name);
        if (found == files.end()) {
            return false;
        }
        blob = found->second;
        blobs_[blob.digest] = blob;
        named = named ? check_name(name, blob) : named;
        return true;
    };
    bool complete = take(manifest->config, image_.config);
    for (const auto& layer : manifest->layers) {
        complete = take(layer, image_.layers.emplace_back()) && complete;
    }
    if (!complete) {
        return Error{ErrorKind::protocol, "", "the image's tar lacks files that its manifest names", ""};
    }
    if (!named) {
        return named;
    }
    manifest_ = image_manifest(image_, image_.config.size);
    const auto config = read(manifest->config);
    return config ? check_layers(image_, *config) : Status(config.error());
}

} // namespace dockdist
